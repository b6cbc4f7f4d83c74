-- Ids for a sentence: ascending, the first twenty, and how many there are in all.
-- Reads:  nothing
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function core.id_list(p_ids bigint[])
returns text
language sql
immutable
set search_path to ''
as $fn$
  select string_agg(i.id::text, ', ' order by i.id) filter (where i.place <= 20)
    || case when count(*) > 20 then format(' … (%s in all)', count(*)) else '' end
  from (select u.id, row_number() over (order by u.id) as place from (select distinct id from unnest(p_ids) e(id)) u) i
$fn$;

comment on function core.id_list(bigint[]) is 'Ids as a person reads them, cut after twenty';
