-- Which days a plan covers and so moves the rosters of (design 7, 11.17, 11.18): the day of the request it answers, be it RESP or DNLD;
-- every day wholly inside a trusted window, with or without records. Windows are grouped by day. Else states only.
begin;
\ir ../../flights.psql
select plan(32);

create function pg_temp.window_plan(p_dttm text, variadic p_records jsonb[]) returns text
language sql as $fn$ select pg_temp.send('SCHD_DNLD', p_records, jsonb_build_object('dttm', p_dttm)) $fn$;

-- by request
select is(pg_temp.dnld(pg_temp.p(1), pg_temp.p(2, '2026-03-11')), 'SUCCEEDED', 'a window over two days');
select is(pg_temp.traces(), '2026-03-10 COMMITTED -->- 1 recs {}; 2026-03-11 COMMITTED -->- 1 recs {}', 'a trace a day, none covered');
select is((select count(*) from ledger.schd_gen), 0::bigint, 'no generation');
select request.open_plan('2026-03-10');
select is(pg_temp.dnld(pg_temp.p(1), pg_temp.p(2, '2026-03-11')), 'SUCCEEDED', 'a DNLD of two days answers no request');
select is((select q.state from request.req_track q), 'PENDING', 'which stays open');
select is(pg_temp.dnld(pg_temp.p(1)), 'SUCCEEDED', 'a DNLD of that day alone');
select is(pg_temp.traces(), '2026-03-10 COMMITTED covering -->1 1 recs {}', 'covers it');
select is((select row(q.state, q.done_message_id = pg_temp.last(), q.done_at = core.now())::text from request.req_track q), '(DONE,t,t)', 'and answers it');
select is(pg_temp.dnld(pg_temp.p(1)), 'SUCCEEDED', 'the next one');
select is(pg_temp.traces(), '2026-03-10 COMMITTED -->- 1 recs {}', 'covers nothing: no request is open');
select is((select g.version from ledger.schd_gen g), 1::bigint, 'the generation stands');
select is(pg_temp.adft(pg_temp.p(3)), 'SUCCEEDED', 'an ADFT of the day');
select is(pg_temp.roster('2026-03-10'), '{1}'::bigint[], 'moves no roster');

-- by window
select is(pg_temp.window_plan('2026-03-10T00:00:00+08:00', pg_temp.p(11, '2026-03-11')), 'SUCCEEDED', 'an untrusted window');
select is(pg_temp.traces(), '2026-03-11 COMMITTED -->- 1 recs {}', 'covers nothing');
update core.setting set schd_trust_window = true;
select is(pg_temp.window_plan('2026-03-10T00:00:00+08:00', pg_temp.p(1), pg_temp.p(3), pg_temp.p(11, '2026-03-11'), pg_temp.p(12, '2026-03-12')), 'SUCCEEDED', 'trusted, from midnight');
select is(pg_temp.traces(), '2026-03-10 COMMITTED covering 1->2 2 recs {}; 2026-03-11 COMMITTED covering -->1 1 recs {}; 2026-03-12 COMMITTED -->- 1 recs {}',
  'covers two days; the third is only touched');
select is(pg_temp.roster('2026-03-10') || pg_temp.roster('2026-03-11'), '{1,3,11}'::bigint[], 'their rosters');
select is(pg_temp.window_plan('2026-03-10T00:01:00+08:00', pg_temp.p(11, '2026-03-11')), 'SUCCEEDED', 'trusted, from a minute later');
select is(pg_temp.traces(), '2026-03-11 COMMITTED covering 1->2 1 recs {}', 'covers only the day wholly inside');
select is(pg_temp.roster('2026-03-10'), '{1,3}'::bigint[], 'the first day''s roster stays');
select is(pg_temp.window_plan('2026-03-13T23:30:00+08:00', pg_temp.p(14, '2026-03-13')), 'SUCCEEDED', 'a window with nothing in its day');
select is(pg_temp.traces(), '2026-03-13 COMMITTED -->- 1 recs {}; 2026-03-14 COMMITTED covering -->1 0 recs {EMPTY}', 'covers that day, empty');
update core.setting set schd_window_hours = 24;
select is(pg_temp.window_plan('2026-03-15T00:00:00+08:00', pg_temp.p(15, '2026-03-15')) || pg_temp.traces(), 'SUCCEEDED2026-03-15 COMMITTED covering -->1 1 recs {}', 'a window of 24 h');
select request.open_plan('2026-03-15');
select is(
  pg_temp.send('SCHD_RESP', array[pg_temp.p(15, '2026-03-15')], '{"dttm": "2026-03-16T00:00:00+08:00"}') || pg_temp.traces(), 'SUCCEEDED2026-03-15 COMMITTED covering 1->2 1 recs {}',
  'an answer has no window');

-- O - N over the days of a window, and a day without records
select pg_temp.policy('ledger');
update core.setting set schd_window_hours = 48;
select is(pg_temp.window_plan('2026-03-10T00:00:00+08:00', pg_temp.p(3)), 'SUCCEEDED', 'ledger: a trusted window of two days names one flight');
select is(pg_temp.told(), '3 v3 []; 1 v6 gone; 11 v4 gone', 'ledger: the rest of both days goes');

-- cut-over
update core.setting set airport_day_cutover = '04:00', schd_window_hours = 24;
select is(
  pg_temp.window_plan('2026-03-20T04:00:00+08:00', pg_temp.p(20, '2026-03-20'), pg_temp.p(21, '2026-03-21', '{"sodt": "2026-03-21T03:59:00+08:00"}')), 'SUCCEEDED',
  'cut-over at four: the day begins and ends there');
select is(pg_temp.roster('2026-03-20'), '{20,21}'::bigint[], 'a time before it belongs to the day before');
select is(pg_temp.window_plan('2026-03-22T00:00:00+08:00', pg_temp.p(22, '2026-03-22')) || pg_temp.traces(), 'SUCCEEDED2026-03-22 COMMITTED -->- 1 recs {}', 'midnight to midnight covers no such day');

-- another zone
update core.setting set airport_timezone = 'America/New_York', airport_day_cutover = '00:00', schd_window_hours = 24;
select is(pg_temp.window_plan('2026-11-01T04:00:00Z', pg_temp.p(30, '2026-11-01', '{"sodt": "2026-11-01T23:30:00-05:00"}')) || pg_temp.traces(), 'SUCCEEDED2026-11-01 COMMITTED -->- 1 recs {}',
  'a day of 25 hours does not fit into 24');
update core.setting set schd_window_hours = 25;
select is(pg_temp.window_plan('2026-11-01T04:00:00Z', pg_temp.p(30, '2026-11-01', '{"sodt": "2026-11-01T23:30:00-05:00"}')) || pg_temp.traces(), 'SUCCEEDED2026-11-01 COMMITTED covering -->1 1 recs {}',
  'but into 25');
select * from finish();
rollback;
