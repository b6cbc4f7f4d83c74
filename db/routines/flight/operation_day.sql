-- The operational day a scheduled time belongs to: local date, where a time before the cut-over belongs to the day before (implementation.md 11.2).
-- Reads:  nothing
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function flight.operation_day(p_at timestamptz, p_timezone text, p_cutover time)
returns date
language sql
stable
set search_path to ''
as $fn$
  select ((p_at at time zone p_timezone) - p_cutover::interval)::date
$fn$;

comment on function flight.operation_day(timestamptz, text, time) is 'Operational day of a scheduled time; null for null';
