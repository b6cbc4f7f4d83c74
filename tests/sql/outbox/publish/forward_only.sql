-- New versions become a notice each and the one row of the latest state, which goes forward only (implementation.md 8.2).
begin;
\ir ../common.psql
select plan(13);
create function pg_temp.publish(p_message bigint, variadic p_news outbox.news[]) returns void
language sql as $fn$
  select outbox.publish(p_news, jsonb_populate_record(null::inbox.stage_message, jsonb_build_object('msg_id', p_message, 'type', 'FLOP', 'styp', 'ESTT')), s, core.now())
  from core.setting s
$fn$;
create function pg_temp.news(p_flid bigint, p_version bigint, p_type text default 'UPSERT', p_silent boolean default false) returns outbox.news
language sql as $fn$ select row(p_flid, p_type, p_version, array['ESTT'], null, p_silent)::outbox.news $fn$;
create function pg_temp.state() returns text
language sql as $fn$
  select string_agg(concat_ws('|', e.flid, e.event_type, e.state_version, e.message_id, e.state, e.attempts, e.last_error, e.claim_epoch, e.payload), ' ' order by e.flid)
  from outbox.msg_event e where e.target = 'KAFKA:schd'
$fn$;
select pg_temp.publish(42, pg_temp.news(8, 1), pg_temp.news(7, 3));
select results_eq('select flid, event_type, state_version, message_id, state from outbox.msg_event where target = ''KAFKA:msg'' order by event_id',
  $$values (8::bigint, 'UPSERT', 1::bigint, 42::bigint, 'PENDING'), (7, 'UPSERT', 3, 42, 'PENDING')$$, 'a notice each, in the order of the message');
select is((select e.payload::jsonb - 'EVENT_ID' from outbox.msg_event e where e.target = 'KAFKA:msg' and e.flid = 7),
  '{"EVENT_TYPE":"UPSERT","FLID":7,"STATE_VERSION":3,"UPDATED_AT":"2026-03-10T06:00:00+08:00","MESSAGE":{"ID":42,"TYPE":"FLOP","STYP":"ESTT"},"CHANGED":["ESTT"]}'::jsonb, 'what it says');
select is((select (e.payload::json ->> 'EVENT_ID')::bigint - e.event_id from outbox.msg_event e where e.target = 'KAFKA:msg' and e.flid = 7), 0::bigint, 'under its own id');
select is((select e.payload ~ '\s' from outbox.msg_event e where e.target = 'KAFKA:msg' and e.flid = 7), false, 'without a blank');
select is(pg_temp.state(), '7|UPSERT|3|42|PENDING|0 8|UPSERT|1|42|PENDING|0', 'and a row each for the state, which is built when it is claimed');
update outbox.msg_event set state = 'DEAD', attempts = 6, last_error = 'x', claim_epoch = 1 where target = 'KAFKA:schd' and flid = 7;
select pg_temp.publish(43, pg_temp.news(7, 4));
select is(pg_temp.state(), '7|UPSERT|4|43|PENDING|0 8|UPSERT|1|42|PENDING|0', 'a newer one replaces it, with a clean slate');
select ok((select e.event_id from outbox.msg_event e where e.target = 'KAFKA:schd' and e.flid = 7)
  > (select max(e.event_id) from outbox.msg_event e where e.target = 'KAFKA:msg' and e.flid = 7), 'and a new generation');
select pg_temp.publish(41, pg_temp.news(7, 2));
select is(pg_temp.state(), '7|UPSERT|4|43|PENDING|0 8|UPSERT|1|42|PENDING|0', 'an older one does not');
select is((select count(*) from outbox.msg_event e where e.target = 'KAFKA:msg' and e.flid = 7), 3::bigint, 'every notice is kept');
select pg_temp.publish(44, pg_temp.news(8, 2, 'UPSERT', true));
select is((select count(*) from outbox.msg_event e where e.target = 'KAFKA:msg' and e.flid = 8), 1::bigint, 'a silent version has no notice');
select pg_temp.publish(45, pg_temp.news(8, 3, 'TOMBSTONE'));
select is(pg_temp.state(), '7|UPSERT|4|43|PENDING|0 8|TOMBSTONE|3|45|PENDING|0', 'retain: a deletion is a null value');
update core.setting set policy_tombstone = 'JSON';
select pg_temp.publish(46, pg_temp.news(7, 5, 'TOMBSTONE'));
select is((select e.payload from outbox.msg_event e where e.target = 'KAFKA:schd' and e.flid = 7), '{"FLID":7,"STATE_VERSION":5,"DELETED":true}', 'ledger: it says so');
select is((select max(e.payload::json ->> 'EVENT_TYPE') from outbox.msg_event e where e.target = 'KAFKA:msg' and e.message_id = 46), 'TOMBSTONE', 'its notice is one like any other');
select * from finish();
rollback;
