-- Makes the plan's flights the roster of each day it covers, and moves the day's generation by compare-and-set against the version
-- that the trace saw (flight-state.md 5.1, steps 8 and 9).
-- Reads:  nothing
-- Writes: ledger.schd_gen, ledger.schd_gen_flid
-- Locks:  the days' rows
-- Raises: 40001 if another generation came between
create or replace function ledger.replace_rosters(
  p_days date[], p_records flight.incoming[], p_message inbox.stage_message, p_trace ledger.schd_snap_log[], p_now timestamptz)
returns void
language plpgsql
volatile
set search_path to ''
as $fn$
declare
  v_moved integer;
begin
  if cardinality(p_days) = 0 then
    return;
  end if;
  with moved as (
    insert into ledger.schd_gen as g (operation_day, version, last_message_id, last_recv_at)
    select t.operation_day, t.new_version, p_message.msg_id, p_now from unnest(p_trace) t where t.covering
    on conflict (operation_day) do update
    set version = excluded.version, last_message_id = excluded.last_message_id, last_recv_at = excluded.last_recv_at
    where g.version = excluded.version - 1
    returning 1
  )
  select count(*) into v_moved from moved;
  if v_moved <> cardinality(p_days) then
    raise exception using
      errcode = 'serialization_failure',
      message = format('the roster of %s moved while plan %s was applied', p_days, p_message.msg_id),
      hint = 'The plan is tried again by itself.';
  end if;

  -- Days are disjoint: a flight whose row went and that lives again on a covered day leaves any roster that still names it.
  delete from ledger.schd_gen_flid o
  where o.operation_day = any (p_days)
     or o.flid = any (array(select r.flid from unnest(p_records) r where r.operation_day = any (p_days)));
  insert into ledger.schd_gen_flid (operation_day, flid)
  select r.operation_day, r.flid from unnest(p_records) r where r.operation_day = any (p_days);
end
$fn$;

comment on function ledger.replace_rosters(date[], flight.incoming[], inbox.stage_message, ledger.schd_snap_log[], timestamptz) is
  'Replaces the rosters of the covered days and moves their generation';
