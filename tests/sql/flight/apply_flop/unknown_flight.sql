-- A FLOP for a flight nobody knows: nothing (retain), a flight without a day (ledger). For a deleted flight it changes nothing under
-- either, also where the row is gone (design 11.11).
begin;
\ir ../../flights.psql
select plan(23);

select is(concat_ws(' ', pg_temp.flop(1, 'ESTT', '{"estt": "2026-03-10T11:00:00+08:00"}'), pg_temp.note(), pg_temp.life(1), pg_temp.told()),
  'SUCCEEDED unknown-flight', 'retain: nothing');
select is(pg_temp.dnld(pg_temp.p(2)), 'SUCCEEDED', 'a flight');
select is(pg_temp.fdel(2) || ' ' || pg_temp.life(2), 'SUCCEEDED DELETED v2 of 2026-03-10', 'deleted');
select is(concat_ws(' ', pg_temp.flop(2, 'ESTT', '{"estt": "2026-03-10T11:00:00+08:00"}'), pg_temp.note(), pg_temp.life(2), pg_temp.told()),
  'SUCCEEDED deleted-flight DELETED v2 of 2026-03-10', 'retain: a deleted flight stays as it is');

select pg_temp.policy('ledger');
select is(concat_ws(' ', pg_temp.flop(2, 'ESTT', '{"estt": "2026-03-10T11:00:00+08:00"}'), pg_temp.note(), pg_temp.life(2)),
  'SUCCEEDED deleted-flight DELETED v2 of 2026-03-10', 'ledger: a row that retain left counts as deleted');
select is(concat_ws(' ', pg_temp.flop(1, 'ESTT', '{"estt": "2026-03-10T11:00:00+08:00", "sodt": "2026-03-10T10:00:00+08:00"}'), pg_temp.note(), pg_temp.life(1), pg_temp.told()),
  'SUCCEEDED ACTIVE v1 of no day 1 v1 [SODT ESTT]', 'ledger: an unknown one is created without a day');
select is(concat_ws(' ', pg_temp.flop(1, 'GTDT', '{}', '{"GTDT": [{"gate": "G1"}]}'), pg_temp.life(1)), 'SUCCEEDED ACTIVE v2 of no day', 'and goes on without one');
select is(concat_ws(' ', pg_temp.dnld(pg_temp.p(1)), pg_temp.life(1), pg_temp.told()), 'SUCCEEDED ACTIVE v3 of 2026-03-10 1 v3 [FLNO ESTT GTDT]',
  'until a plan takes it in; what the plan leaves out is cleared');
select is(pg_temp.fdel(1) || coalesce(pg_temp.life(1), ' gone'), 'SUCCEEDED gone', 'ledger: deleted');
select is(concat_ws(' ', pg_temp.flop(1, 'ESTT', '{"estt": "2026-03-10T11:00:00+08:00"}'), pg_temp.note(), pg_temp.life(1), pg_temp.told()),
  'SUCCEEDED deleted-flight', 'ledger: the row is gone and it is still known as deleted');
select is(concat_ws(' ', pg_temp.fdel(1), pg_temp.note(), pg_temp.told()), 'SUCCEEDED no-active-flight', 'FDEL again changes nothing');
select pg_temp.policy('retain');
select is(concat_ws(' ', pg_temp.flop(1, 'ESTT', '{"estt": null}'), pg_temp.note()), 'SUCCEEDED deleted-flight', 'back under retain: still known as deleted');
update core.setting set policy_unknown_flop = 'CREATE';
select is(concat_ws(' ', pg_temp.flop(3, 'ESTT', '{"estt": null}'), pg_temp.life(3), pg_temp.told()), 'SUCCEEDED ACTIVE v1 of no day 3 v1 []',
  'the switch alone decides; a flight created from an empty tag');
select is(concat_ws(' ', pg_temp.adft(pg_temp.p(3, '2026-03-12')), pg_temp.life(3)), 'SUCCEEDED ACTIVE v2 of 2026-03-12', 'an ADFT may give the day too');
select is(concat_ws(' ', pg_temp.flop(4, 'CNCL', '{}', '{"CHOT": []}'), pg_temp.life(4), pg_temp.told()), 'SUCCEEDED ACTIVE v1 of no day 4 v1 []', 'from an empty set');
update core.setting set policy_unknown_flop = 'IGNORE';
select is(concat_ws(' ', pg_temp.flop(5, 'ESTT', '{"estt": null}'), pg_temp.life(5)), 'SUCCEEDED', 'and back');

-- only a plan or an ADFT starts a new life
select is(concat_ws(' ', pg_temp.adft(pg_temp.f(2, '{"flno": "X1"}')), pg_temp.life(2), pg_temp.told()), 'SUCCEEDED ACTIVE v3 of 2026-03-10 2 v3 [FLNO]',
  'an ADFT starts a new life; under retain it keeps the day');
select is(pg_temp.doc(2), '{"FLNO": "X1"}'::jsonb, 'and starts from nothing');
select is(concat_ws(' ', pg_temp.flop(2, 'ESTT', '{"estt": "2026-03-10T11:00:00+08:00"}'), pg_temp.told()), 'SUCCEEDED 2 v4 [ESTT]', 'which FLOPs change again');
select is(concat_ws(' ', pg_temp.dnld(pg_temp.p(1)), pg_temp.life(1)), 'SUCCEEDED ACTIVE v5 of 2026-03-10', 'so does a plan; the version goes on from the last');

-- two flights with one number
select is(pg_temp.dnld(pg_temp.p(10, '2026-03-10', '{"flno": "CA100", "mvin": "D"}'), pg_temp.p(11, '2026-03-10', '{"flno": "CA100", "mvin": "D"}')), 'SUCCEEDED', 'one number twice');
select is(concat_ws(' ', pg_temp.flop(10, 'ESTT', '{"estt": "2026-03-10T11:00:00+08:00"}'), pg_temp.life(10), pg_temp.life(11), pg_temp.doc(11) ? 'ESTT'),
  'SUCCEEDED ACTIVE v2 of 2026-03-10 ACTIVE v1 of 2026-03-10 f', 'a FLOP on one leaves the other');
select is(concat_ws(' ', pg_temp.flop(10, 'FLNO', '{"flno": "CA200"}'), pg_temp.life(10), (select count(*) from flight.flight_schd f where f.flid in (10, 11))),
  'SUCCEEDED ACTIVE v3 of 2026-03-10 2', 'another number, the same flight');
select * from finish();
rollback;
