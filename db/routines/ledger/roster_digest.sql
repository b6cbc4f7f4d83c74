-- Fingerprint of a roster, to see by eye and by query whether a name list flutters.
-- Reads:  nothing
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function ledger.roster_digest(p_flids bigint[])
returns bytea
language sql
immutable
set search_path to ''
as $fn$
  select sha256(convert_to(coalesce((select string_agg(f.flid::text, ',' order by f.flid) from unnest(p_flids) f(flid)), ''), 'UTF8'))
$fn$;

comment on function ledger.roster_digest(bigint[]) is 'sha256 of the FLIDs, ascending, joined by commas';
