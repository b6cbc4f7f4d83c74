-- Which open request a plan answers: by type, day and sender, newest first; an answer without records by type and sender; neither an
-- expired request nor one sent after the answer was made (implementation.md 7.1, 7.2; design 11.17).
begin;
\ir ../../flights.psql
select plan(25);

create function pg_temp.ask(p_day date, p_sender text default 'AODB') returns void language sql as $fn$ select request.open_plan(p_day, p_sender) $fn$;
create function pg_temp.matched(p_kind text, p_days date[], p_meta jsonb default '{}') returns text
language plpgsql as $fn$
declare
  v_message inbox.stage_message := jsonb_populate_record(null::inbox.stage_message, jsonb_build_object('kind', p_kind, 'sndr', 'AODB', 'dttm', '2026-03-10T06:00:00+08:00') || p_meta);
  v_found request.req_track;
begin
  v_found := request.match_plan(v_message, p_days, (select s from core.setting s), core.now());
  return v_found.operation_day || ' ' || v_found.sndr;
end
$fn$;

select is(pg_temp.matched('SCHD_RESP', '{2026-03-10}'), null, 'none is open');
select pg_temp.ask('2026-03-10');
select is(pg_temp.matched('SCHD_RESP', '{2026-03-10}'), '2026-03-10 AODB', 'day and sender');
select is(pg_temp.matched('SCHD_RESP', '{2026-03-11}'), null, 'another day');
select is(pg_temp.matched('SCHD_RESP', '{2026-03-10}', '{"sndr": "X"}'), null, 'another sender');
select is(pg_temp.matched('SCHD_RESP', '{}'), '2026-03-10 AODB', 'an answer without records');
select is(pg_temp.matched('SCHD_RESP', '{}', '{"sndr": "X"}'), null, 'of another sender');
select is(pg_temp.matched('SCHD_RESP', '{2026-03-10,2026-03-11}'), '2026-03-10 AODB', 'an answer with other days as well (refused later, as a whole)');
select is(pg_temp.matched('SCHD_DNLD', '{2026-03-10}'), '2026-03-10 AODB', 'a DNLD of that day');
select is(pg_temp.matched('SCHD_DNLD', '{2026-03-10,2026-03-11}'), null, 'a DNLD of more days');
select is(pg_temp.matched('SCHD_DNLD', '{}'), null, 'an empty DNLD');

set local msgx.now to '2026-03-10 06:01:00+08';
select pg_temp.ask('2026-03-11');
select is(pg_temp.matched('SCHD_RESP', '{}'), '2026-03-11 AODB', 'two open: the newest');
select is(pg_temp.matched('SCHD_RESP', '{2026-03-10}'), '2026-03-10 AODB', 'of its day');
select is(pg_temp.matched('SCHD_RESP', '{2026-03-10,2026-03-11}'), '2026-03-11 AODB', 'of its days');
set local msgx.now to '2026-03-10 06:02:00+08';
select pg_temp.ask('2026-03-10', null);
select is(pg_temp.matched('SCHD_RESP', '{2026-03-10}'), '2026-03-10 ', 'one of any sender, newer');
select is(pg_temp.matched('SCHD_RESP', '{2026-03-10}', '{"sndr": "X"}'), '2026-03-10 ', 'takes any sender''s');

-- times
update request.req_track set state = 'SENT', sent_at = '2026-03-10 06:00:00.7+08' where sndr = 'AODB';
delete from request.req_track where sndr = '';
select is(pg_temp.matched('SCHD_RESP', '{2026-03-10}'), '2026-03-10 AODB', 'sent in the same second: META has no finer time');
select is(pg_temp.matched('SCHD_RESP', '{2026-03-10}', '{"dttm": "2026-03-10T05:59:59+08:00"}'), null, 'made before the question was sent: no answer');
set local msgx.now to '2026-03-11 05:59:59+08';
select is(pg_temp.matched('SCHD_RESP', '{2026-03-10}'), '2026-03-10 AODB', 'within the expiry');
set local msgx.now to '2026-03-11 06:00:00+08';
select is(pg_temp.matched('SCHD_RESP', '{2026-03-10}'), null, 'at its end it is closed, swept or not');
select is(pg_temp.matched('SCHD_RESP', '{2026-03-11}'), '2026-03-11 AODB', 'the younger is open');
update request.req_track set state = 'DONE';
select is(pg_temp.matched('SCHD_RESP', '{2026-03-11}'), null, 'answered');
update request.req_track set state = 'EXPIRED';
select is(pg_temp.matched('SCHD_RESP', '{2026-03-11}'), null, 'closed');

-- through the pump
delete from request.req_track;
set local msgx.now to '2026-03-10 06:00:00+08';
select pg_temp.ask('2026-03-10'), pg_temp.ask('2026-03-11');
select is(pg_temp.resp(variadic '{}') || ' ' || pg_temp.traces(), 'SUCCEEDED 2026-03-11 COMMITTED covering -->1 0 recs {EMPTY}', 'an empty answer covers the newest request''s day');
select is(pg_temp.send('SCHD_RESP', array[pg_temp.p(1)], '{"sndr": "X"}'), 'SKIPPED', 'another sender''s answer is none');
set local msgx.now to '2026-03-12 06:00:00+08';
select is(pg_temp.resp(pg_temp.p(1)) || ' ' || (select q.state from request.req_track q where q.operation_day = '2026-03-10'), 'SKIPPED PENDING', 'a late answer changes nothing');
select * from finish();
rollback;
