-- The one clock of everything decided in SQL. Tests set the session setting msgx.now to a time of their own.
-- Reads:  nothing
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function core.now()
returns timestamptz
language plpgsql
volatile
set search_path to ''
as $fn$
begin
  return coalesce(nullif(current_setting('msgx.now', true), '')::timestamptz, clock_timestamp());
end
$fn$;

comment on function core.now() is 'The one clock of everything decided in SQL';
grant execute on function core.now() to msgx_app, msgx_operator, msgx_reader;
