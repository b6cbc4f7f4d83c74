-- States: each due row with its flight as it is now; a tombstone with its payload or none; a state without a flight ends in sight.
begin;
\ir ../common.psql
select plan(14);
select pg_temp.flight(7, 3), pg_temp.flight(8);
select pg_temp.schd(11, 7, '{"state_version": 3, "message_id": 42}'), pg_temp.schd(10, 8), pg_temp.schd(12, 9, '{"event_type": "TOMBSTONE"}'),
  pg_temp.schd(13, 6, '{"event_type": "TOMBSTONE", "payload": "{\"DELETED\":true}"}'), pg_temp.schd(14, 5, '{"state": "SENT", "sent_at": "2026-03-10T05:00:00+08:00"}'),
  pg_temp.schd(15, 4, '{"next_attempt_at": "2026-03-10T06:00:01+08:00"}');
select results_eq('select event_id, flid, event_type, state_version, message_id from outbox.claim(1, ''KAFKA:schd'', null)',
  $$values (10::bigint, 8::bigint, 'UPSERT', 1::bigint, 10::bigint), (11, 7, 'UPSERT', 3, 42), (12, 9, 'TOMBSTONE', 1, 12), (13, 6, 'TOMBSTONE', 1, 13)$$, 'what is due, in EVENT_ID order');
select is((select c.value from outbox.claim(1, 'KAFKA:schd', null) c where c.flid = 7), (select d.document::text from flight.document(array[7]) d), 'the canonical state');
select matches((select c.value from outbox.claim(1, 'KAFKA:schd', null) c where c.flid = 7), '^\{"FLID":7,"STATE":"ACTIVE","STATE_VERSION":3,', 'of that version');
select is((select c.value from outbox.claim(1, 'KAFKA:schd', null) c where c.flid = 9), null, 'a tombstone without a value');
select is((select c.value from outbox.claim(1, 'KAFKA:schd', null) c where c.flid = 6), '{"DELETED":true}', 'a tombstone with one');
select is(pg_temp.row(11), 'PENDING|0|next 06:00:00|epoch 1', 'the claim is written down');
select is(pg_temp.claim('KAFKA:schd', 2), '10 11', 'no more than asked for');
select is((select e.payload from outbox.msg_event e where e.event_id = 11), null, 'the state is not kept in the outbox');
update core.setting set schd_flush_limit = 1;
select is(pg_temp.claim('KAFKA:schd'), '10', 'the limit is a setting');
update core.setting set schd_flush_limit = 1000;
select is(pg_temp.alerts(), null, 'all is well');
select pg_temp.schd(20, 99);
select is(pg_temp.claim('KAFKA:schd'), '10 11 12 13', 'a state without a flight is not told');
select is(pg_temp.row(20), 'DEAD|0|next 06:00:00|the flight has no row', 'and does not wait in silence');
select is(pg_temp.alerts(), 'EVENT_DEAD', 'somebody is told');
select throws_ok('select * from outbox.claim(0, ''KAFKA:schd'', 1)', 'MX010', null, 'only the leader');
select * from finish();
rollback;
