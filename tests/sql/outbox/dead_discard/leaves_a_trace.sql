-- A person gives a dead event up; what it was, who and why stay.
begin;
\ir ../common.psql
select plan(8);
select pg_temp.msg(1, 7, '{"state": "DEAD", "last_error": "too large"}'), pg_temp.msg(2, 7), pg_temp.schd(11, 7, '{"state": "DEAD"}');
select outbox.dead_discard(1, ' not needed ');
select is((select count(*) from outbox.msg_event e where e.event_id = 1), 0::bigint, 'gone');
select results_eq('select code, detail, message_id, acknowledged_by from core.alert',
  format($$values ('EVENT_DISCARDED', '%1$s discarded KAFKA:msg event 1 of flight 7, version 1, which had failed with: too large. Reason: not needed', 1::bigint, '%1$s')$$, session_user),
  'with a trace that needs no further note');
select outbox.dead_discard(11, 'x');
select is((select count(*) from outbox.msg_event e where e.target = 'KAFKA:schd'), 0::bigint, 'a state too');
select throws_ok('select outbox.dead_discard(2, ''x'')', 'MX013', null, 'not one that waits');
select throws_ok('select outbox.dead_discard(9, ''x'')', 'MX012', null, 'one that is none');
select throws_ok('select outbox.dead_discard(2, '' '')', '22023', null, 'no reason');
select is((select count(*) from outbox.dead), 0::bigint, 'none is left');
select is(pg_temp.allowed('select outbox.dead_discard(2, ''x'')'), 'operator', 'only operators');
select * from finish();
rollback;
