-- A message that a statement time-out cancels is INFRA, nothing of it lands, and the step stops: its time is up.
begin;
\ir ../../flights.psql
select plan(7);

create function pg_temp.slow() returns trigger
language plpgsql as $fn$ begin if new.flid = 2 and current_setting('msgx.test_slow', true) = 'on' then perform pg_sleep(30); end if; return new; end $fn$;
create trigger slow before insert on flight.flight_schd for each row execute function pg_temp.slow();
select pg_temp.stage('SCHD_ADFT', array[pg_temp.f(1)]), pg_temp.stage('SCHD_ADFT', array[pg_temp.f(2)]), pg_temp.stage('SCHD_ADFT', array[pg_temp.f(3)]);
set local msgx.test_slow to 'on';
update core.setting set pipeline_commit_interval = '1 s';
set local statement_timeout to '1500ms';
create temp table answer as select processed, stopped, head from pipeline.step(1, 100);
set local statement_timeout to 0;
select is((select a::text from answer a), '(2,BUDGET,2)', 'one done, one cancelled, then it stops');
select is((select row(m.state, m.error_class, m.error_sqlstate, m.attempts)::text from inbox.proc_state m where m.msg_id = 2), '(FAILED,INFRA,57014,1)', 'cancelled is INFRA');
select is(concat_ws(' ', pg_temp.life(1), pg_temp.life(2), pg_temp.life(3)), 'ACTIVE v1 of no day', 'the first stands, nothing of the second');
select cmp_ok((select q.finished_through from inbox.queue_head q), '<', 2::bigint, 'which stays the head');
set local msgx.test_slow to 'off';
select is(pg_temp.step(), 'HEAD_BACKOFF', 'and waits');
set local msgx.now to '2026-03-10 06:00:01+08';
select is(pg_temp.step(), 'IDLE', 'for its next try');
select is(concat_ws(' ', pg_temp.life(1), pg_temp.life(2), pg_temp.life(3)), 'ACTIVE v1 of no day ACTIVE v1 of no day ACTIVE v1 of no day', 'all are done, in order');
select * from finish();
rollback;
