-- The last guard of INV-12: a flight's operational day, once set, never changes, not even to null (implementation.md 11.2).
-- Reads:  nothing
-- Writes: nothing
-- Locks:  nothing
-- Raises: MX013
create or replace function flight.forbid_operation_day_change()
returns trigger
language plpgsql
set search_path to ''
as $fn$
begin
  raise exception using
    errcode = 'MX013',
    message = format('flight %s belongs to operational day %s and cannot move to %s', old.flid, old.operation_day,
                     coalesce(new.operation_day::text, 'none')),
    hint = 'An identity moves by FDEL of the old FLID and ADFT of a new one.';
end
$fn$;

comment on function flight.forbid_operation_day_change() is 'Trigger: the operational day of a flight never changes once set';

create or replace trigger forbid_operation_day_change
  before update of operation_day on flight.flight_schd
  for each row
  when (old.operation_day is not null and new.operation_day is distinct from old.operation_day)
  execute function flight.forbid_operation_day_change();
