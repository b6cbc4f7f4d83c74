-- A dry run changes nothing and tells what ran after a message on the same flights, as far as that can be known.
begin;
\ir ../common.psql
select plan(7);
select pg_temp.message(10, 'DEAD', 'EXHAUSTED', '{"flids": [1, 2]}'), pg_temp.message(11, 'DEAD', 'CODEC_ERROR'), pg_temp.message(12, 'FAILED', 'INFRA'),
  pg_temp.message(13, 'DEAD', 'EXHAUSTED', '{"flids": [9]}'), pg_temp.message(14, 'DEAD', 'CODEC_ERROR', '{"flids": []}');
select pg_temp.staged(12, 3);
insert into outbox.msg_event (event_id, target, flid, event_type, state_version, message_id, state, next_attempt_at, created_at, updated_at, sent_at)
select e.id, e.target, e.flid, 'UPSERT', e.id, e.message_id, 'SENT', core.now(), core.now(), core.now(), core.now()
from (values
  (1, 'KAFKA:msg', 1, 9), (2, 'KAFKA:msg', 1, 20), (3, 'KAFKA:msg', 2, 21), (4, 'KAFKA:msg', 3, 22), (5, 'KAFKA:msg', 1, 20), (6, 'KAFKA:schd', 2, 23)) e(id, target, flid, message_id);
insert into flight.flight_schd (flid, state_version, updated_at, last_message_id, created_at) values (1, 5, core.now(), 24, core.now()), (4, 1, core.now(), 30, core.now());
create function pg_temp.later(p_id bigint) returns text
language sql as $fn$ select coalesce(r.later_messages::text, 'unknown') from inbox.replay(array[p_id]) r $fn$;
select is(pg_temp.later(10), '{20,21,23,24}', 'of all its flights, each once: from the outbox and from the flights');
select is(pg_temp.later(12), '{22}', 'from staging, while it is there');
select is(pg_temp.later(13), '{}', 'none');
select is(pg_temp.later(11), 'unknown', 'never decoded');
select is(pg_temp.later(14), 'unknown', 'decoded to no flight');
select is((select count(*) from inbox.proc_state m where m.replays = 0), 5::bigint, 'nothing was changed');
select is((select r.later_messages::text from inbox.replay(array[10], p_dry_run => false) r), '{20,21,23,24}', 'told also when it is done');
select * from finish();
rollback;
