-- Which days a plan covers: the requested one, and the days wholly inside a trusted window.
begin;
\ir ../../flights.psql
select plan(16);

create function pg_temp.covered(p_dttm text, p_hours integer, p_kind text default 'SCHD_DNLD', p_day date default null) returns text
language plpgsql as $fn$
declare
  v_message inbox.stage_message;
  v_setting core.setting;
begin
  select * into v_setting from core.setting;
  v_setting.schd_window_hours := p_hours;
  v_message.kind := p_kind;
  v_message.dttm := p_dttm;
  return array_to_string(ledger.covered_days(v_message, p_day, v_setting), ' ');
end
$fn$;
select is(pg_temp.covered('2026-03-10 00:00+08', 48), '', 'off by default');
select is(pg_temp.covered('2026-03-10 00:00+08', 48, 'SCHD_RESP', '2026-03-09'), '2026-03-09', 'the requested day');
update core.setting set schd_trust_window = true;
select is(pg_temp.covered('2026-03-10 00:00+08', 48), '2026-03-10 2026-03-11', 'two days from midnight');
select is(pg_temp.covered('2026-03-10 00:00:01+08', 48), '2026-03-11', 'one from a second later');
select is(pg_temp.covered('2026-03-09 23:59:59+08', 48), '2026-03-10', 'and from a second before: the second day is not whole');
select is(pg_temp.covered('2026-03-10 00:00+08', 47), '2026-03-10', '47 hours');
select is(pg_temp.covered('2026-03-10 12:00+08', 24), '', '24 hours from noon');
select is(pg_temp.covered('2026-03-10 12:00+08', 36), '2026-03-11', '36 hours from noon');
select is(pg_temp.covered('2026-03-10 00:00+08', 1), '', 'an hour');
select is(pg_temp.covered('2026-03-10 00:00+08', 240), (select string_agg(d::date::text, ' ') from generate_series('2026-03-10'::timestamp, '2026-03-19', '1 day') d), 'ten days');
select is(pg_temp.covered('2026-03-10 00:00+08', 48, 'SCHD_DNLD', '2026-03-11'), '2026-03-11', 'a plan that answers a request is no scheduled plan: the requested day only');
select is(pg_temp.covered('2026-03-10 00:00+08', 48, 'SCHD_RESP', '2026-03-09'), '2026-03-09', 'an answer has no window');
update core.setting set airport_day_cutover = '04:00';
select is(pg_temp.covered('2026-03-10 04:00+08', 48), '2026-03-10 2026-03-11', 'days begin at the cut-over');
select is(pg_temp.covered('2026-03-10 00:00+08', 48), '2026-03-10', 'from midnight the second is not whole');
update core.setting set airport_timezone = 'America/New_York', airport_day_cutover = '00:00';
select is(pg_temp.covered('2026-03-08 05:00Z', 23), '2026-03-08', 'a day of 23 hours');
set local timezone to 'Pacific/Apia';
select is(pg_temp.covered('2026-03-08 05:00Z', 23), '2026-03-08', 'whatever the session''s zone');
select * from finish();
rollback;
