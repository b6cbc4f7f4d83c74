-- FDEL (implementation.md 12.3, flight-state.md 6.2): the row stays as DELETED (retain) or goes (ledger); the state topic gets null or
-- JSON; a late or repeated one is idempotent success.
begin;
\ir ../../flights.psql
select plan(30);

create function pg_temp.tombstone(p_flid bigint) returns text
language sql as $fn$
  select e.event_type || ' ' || coalesce(e.payload, 'null') || ' ' || e.state from outbox.msg_event e where e.target = 'KAFKA:schd' and e.flid = p_flid
$fn$;

select is(pg_temp.day_plan('2026-03-10', pg_temp.p(1), pg_temp.p(2), pg_temp.p(3), pg_temp.p(4)), 'SUCCEEDED', 'four flights');

select is(pg_temp.fdel(1), 'SUCCEEDED', 'retain');
select is(pg_temp.life(1), 'DELETED v2 of 2026-03-10', 'the row stays');
select is(pg_temp.told(), '1 v2 gone', 'the notice');
select is(pg_temp.tombstone(1), 'TOMBSTONE null PENDING', 'the state topic''s null');
select is((select f.last_message_id from flight.flight_schd f where f.flid = 1), pg_temp.last(), 'deletion is a step like any');
select is((select d.document ->> 'STATE' from flight.document('{1}') d), 'DELETED', 'the document still tells it');
select is(pg_temp.doc(1), '{"FLNO": "CA1", "SODT": "2026-03-10T10:00:00+08:00"}'::jsonb, 'with its content');
select is((select e.payload::json ->> 'EVENT_TYPE' from outbox.msg_event e where e.message_id = pg_temp.last() and e.target = 'KAFKA:msg'), 'TOMBSTONE', 'the notice is JSON');
select is(pg_temp.fdel(1) || pg_temp.note() || coalesce(pg_temp.told(), ''), 'SUCCEEDEDno-active-flight', 'again: nothing');
select is(pg_temp.life(1), 'DELETED v2 of 2026-03-10', 'no version more');
select is(pg_temp.fdel(99) || pg_temp.note(), 'SUCCEEDEDno-active-flight', 'an unknown one: nothing');
select is((select count(*) from flight.flid_version), 0::bigint, 'and nothing remembered of it');
select is(pg_temp.roster('2026-03-10'), '{1,2,3,4}'::bigint[], 'the roster stands');

select pg_temp.policy('ledger');
select is(pg_temp.fdel(2), 'SUCCEEDED', 'ledger');
select is(pg_temp.life(2), null, 'the row goes');
select is(pg_temp.told(), '2 v2 gone', 'the notice');
select is(pg_temp.tombstone(2), 'TOMBSTONE {"FLID":2,"STATE_VERSION":2,"DELETED":true} PENDING', 'the state topic''s JSON');
select is((select count(*) from flight.document('{2}')), 0::bigint, 'no document');
select is((select row(g.state_version, g.removed_at = core.now())::text from flight.flid_version g where g.flid = 2), '(2,t)', 'its version is remembered');
select is(pg_temp.roster('2026-03-10'), '{1,3,4}'::bigint[], 'it leaves the roster');
select is(pg_temp.fdel(2) || pg_temp.note() || coalesce(pg_temp.told(), ''), 'SUCCEEDEDno-active-flight', 'again: nothing');

-- each switch alone
update core.setting set policy_deletion = 'MARK';
select is(pg_temp.fdel(3) || ' ' || pg_temp.life(3), 'SUCCEEDED DELETED v2 of 2026-03-10', 'MARK alone keeps the row');
select is(pg_temp.tombstone(3), 'TOMBSTONE {"FLID":3,"STATE_VERSION":2,"DELETED":true} PENDING', 'with the JSON form');
select is(pg_temp.roster('2026-03-10'), '{1,3,4}'::bigint[], 'and its place on the roster');
update core.setting set policy_deletion = 'REMOVE', policy_tombstone = 'NULL';
select is(pg_temp.fdel(4) || coalesce(pg_temp.life(4), ' gone'), 'SUCCEEDED gone', 'REMOVE alone takes it');
select is(pg_temp.tombstone(4), 'TOMBSTONE null PENDING', 'with null');
select pg_temp.policy('retain');
select is(pg_temp.tombstone(2), 'TOMBSTONE {"FLID":2,"STATE_VERSION":2,"DELETED":true} PENDING', 'a tombstone keeps the form it was made in');
select is(pg_temp.dnld(pg_temp.p(4)) || ' ' || pg_temp.life(4) || ' ' || pg_temp.tombstone(4), 'SUCCEEDED ACTIVE v3 of 2026-03-10 UPSERT null PENDING', 'a new life replaces it');
select is(pg_temp.fdel(4) || ' ' || pg_temp.life(4), 'SUCCEEDED DELETED v4 of 2026-03-10', 'which ends again');
select * from finish();
rollback;
