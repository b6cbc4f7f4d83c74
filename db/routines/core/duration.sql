-- A duration as people write it and as core.setting_set reads it: 50ms, 30s, 2m, 1h30m, 7d. What has no such form stays as PostgreSQL
-- prints it.
-- Reads:  nothing
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function core.duration(p_interval interval)
returns text
language sql
immutable
set search_path to ''
set intervalstyle to 'postgres'
as $fn$
  select case
    when p_interval < interval '0' or extract(month from p_interval) <> 0 or extract(year from p_interval) <> 0
      or extract(microseconds from p_interval)::bigint % 1000 <> 0 then p_interval::text
    when p_interval = interval '0' then '0s'
    else concat(
      nullif(extract(day from p_interval)::integer, 0) || 'd',
      nullif(extract(hour from p_interval)::integer, 0) || 'h',
      nullif(extract(minute from p_interval)::integer, 0) || 'm',
      nullif((extract(microseconds from p_interval)::bigint / 1000000)::integer, 0) || 's',
      nullif((extract(microseconds from p_interval)::bigint / 1000 % 1000)::integer, 0) || 'ms')
  end
$fn$;

comment on function core.duration(interval) is 'A duration in short: 50ms, 30s, 2m, 7d';
grant execute on function core.duration(interval) to msgx_app, msgx_operator, msgx_reader;
