-- Whether the rosters of the covered days already are this message's work (flight-state.md 5.1, step 2).
-- Reads:  ledger.schd_gen
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function ledger.is_replay(p_days date[], p_message_id bigint)
returns boolean
language sql
stable
set search_path to ''
as $fn$
  select cardinality(p_days) > 0
    and (select count(*) from ledger.schd_gen g where g.operation_day = any (p_days) and g.last_message_id = p_message_id) = cardinality(p_days)
$fn$;

comment on function ledger.is_replay(date[], bigint) is 'Whether every covered day was last covered by this very message';
