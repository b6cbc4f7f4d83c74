-- What a version tells (design 3, 11.1, 11.3): one version a message, CHANGED in catalogue order with the tags whose value differs,
-- [] when none does and still told, notices in the order of EVENT_ID; the payload's keys, order and bytes.
begin;
\ir ../../flights.psql
select plan(25);

create function pg_temp.payload() returns text
language sql as $fn$
  select regexp_replace(e.payload, '"EVENT_ID":\d+', '"EVENT_ID":' || case when (e.payload::json ->> 'EVENT_ID')::bigint = e.event_id then 'right' else 'wrong' end)
  from outbox.msg_event e where e.target = 'KAFKA:msg' and e.message_id = pg_temp.last() order by e.event_id limit 1
$fn$;
set local msgx.now to '2026-03-10 08:40:12.123456+08';

select is(pg_temp.dnld(pg_temp.p(7701002, '2026-03-10', '{"maxp": 170, "alcd": "CA", "exsr": "x", "reid": "r"}',
  '{"ERUT": [{"apcd": "CAN"}], "GTDT": [{"gate": "G12"}]}', '{"FLAB": "f", "TOBT": "2026-03-10T11:00:00+08:00"}')), 'SUCCEEDED', 'a new flight');
select is(pg_temp.payload(),
  '{"EVENT_ID":right,"EVENT_TYPE":"UPSERT","FLID":7701002,"STATE_VERSION":1,"UPDATED_AT":"2026-03-10T08:40:12.123456+08:00","MESSAGE":{"ID":1,"TYPE":"SCHD","STYP":"DNLD"},'
  '"CHANGED":["ALCD","FLNO","SODT","MAXP","EXSR","REID","TOBT","FLAB","GTDT","ERUT"]}', 'bytes, keys and order; tags in catalogue order, the site''s among them');
select is(pg_temp.flop(7701002, 'ESTT', '{"estt": "2026-03-10T11:00:00+08:00"}'), 'SUCCEEDED', 'a FLOP');
select is(pg_temp.payload(),
  '{"EVENT_ID":right,"EVENT_TYPE":"UPSERT","FLID":7701002,"STATE_VERSION":2,"UPDATED_AT":"2026-03-10T08:40:12.123456+08:00","MESSAGE":{"ID":2,"TYPE":"FLOP","STYP":"ESTT"},"CHANGED":["ESTT"]}',
  'as the design shows it');
select is(pg_temp.flop(7701002, 'ESTT', '{"estt": "2026-03-10T11:00:00+08:00"}') || pg_temp.told(), 'SUCCEEDED7701002 v3 []', 'nothing changed: still one version and told');
select matches(pg_temp.payload(), '"CHANGED":\[\]\}$', 'with an empty list');
select is(pg_temp.flop(7701002, 'ESTT', '{"estt": "2026-03-10T11:00:00.000+08:00"}') || pg_temp.told(), 'SUCCEEDED7701002 v4 []', 'the same instant in other letters is the same value');
select is(pg_temp.flop(7701002, 'X', '{"estt": null, "reid": "r", "alcd": null, "exsr": "y"}', '{"ERUT": [], "DELY": []}', '{"TOBT": null}') || pg_temp.told(),
  'SUCCEEDED7701002 v5 [ALCD ESTT EXSR TOBT ERUT]', 'value to none, other value, none to none, same value');
select is(pg_temp.fdel(7701002), 'SUCCEEDED', 'a deletion');
select is(pg_temp.payload(),
  '{"EVENT_ID":right,"EVENT_TYPE":"TOMBSTONE","FLID":7701002,"STATE_VERSION":6,"UPDATED_AT":"2026-03-10T08:40:12.123456+08:00","MESSAGE":{"ID":6,"TYPE":"FLOP","STYP":"FDEL"},"CHANGED":[]}',
  'has nothing changed');
select is(pg_temp.dnld(pg_temp.p(1), pg_temp.p(2, '2026-03-10', '{"maid": 1}')), 'SUCCEEDED', 'a family');
select is(pg_temp.fdel(1), 'SUCCEEDED', 'goes');
select matches(pg_temp.payload(), '"CHANGED":\[\],"CHILDREN":\[2\]\}$', 'CHILDREN come last');

-- order and number of events
select is(pg_temp.dnld(pg_temp.p(30), pg_temp.p(10), pg_temp.p(20)) || pg_temp.told(), 'SUCCEEDED30 v1 [FLNO SODT]; 10 v1 [FLNO SODT]; 20 v1 [FLNO SODT]', 'EVENT_ID follows the order of the plan');
select is((select count(*) from outbox.msg_event e where e.target = 'KAFKA:schd' and e.flid in (10, 20, 30)), 3::bigint, 'one state row each');
select pg_temp.flop(10, 'ESTT', '{"estt": null}'), pg_temp.flop(10, 'ESTT', '{"estt": null}');
select is((select row(count(*), max(e.state_version))::text from outbox.msg_event e where e.target = 'KAFKA:schd' and e.flid = 10), '(1,3)', 'replaced, with the latest version');
select is((select array_agg(e.state_version order by e.event_id) from outbox.msg_event e where e.target = 'KAFKA:msg' and e.flid = 10), '{1,2,3}'::bigint[], 'notices queue');
select is((select row(e.state, e.attempts, e.payload, e.claim_epoch, e.sent_at)::text from outbox.msg_event e where e.target = 'KAFKA:schd' and e.flid = 10), '(PENDING,0,,,)', 'a state''s payload is built when claimed');
update outbox.msg_event set state = 'DEAD', attempts = 6, last_error = 'x' where flid = 10 and target = 'KAFKA:schd';
select is(pg_temp.flop(10, 'ESTT', '{"estt": null}'), 'SUCCEEDED', 'a new version of a dead state row');
select is((select row(e.state, e.attempts, e.last_error, e.state_version)::text from outbox.msg_event e where e.target = 'KAFKA:schd' and e.flid = 10), '(PENDING,0,,4)', 'takes its place');
select is((select count(distinct e.event_id) = count(*) from outbox.msg_event e), true, 'no EVENT_ID twice');
select is((select bool_and(e.updated_at = f.updated_at and e.message_id = f.last_message_id and e.state_version = f.state_version)
  from outbox.msg_event e join flight.flight_schd f using (flid) where e.target = 'KAFKA:schd'), true, 'the state rows tell what the flights hold');

-- neither the session's zone nor its formats show
set local timezone to 'America/New_York';
set local datestyle to 'German, DMY';
set local intervalstyle to 'sql_standard';
set local extra_float_digits to 0;
select is(pg_temp.flop(20, 'ESTT', '{"estt": "2026-03-10T11:00:00+08:00"}'), 'SUCCEEDED', 'from a session abroad');
select matches(pg_temp.payload(), '"UPDATED_AT":"2026-03-10T08:40:12.123456\+08:00"', 'the airport''s offset');
select is((select d.document ->> 'ESTT' from flight.document('{20}') d), '2026-03-10T11:00:00+08:00', 'in the document too');
select * from finish();
rollback;
