-- O - N, and its assertion (flight-state.md 5.5): where a roster names a flight of another day, our own data is damaged. Under ledger
-- nothing of the plan lands and a person is told; under retain the plan goes on and a person is told.
begin;
\ir ../../flights.psql
select plan(23);

select is(pg_temp.day_plan('2026-03-10', pg_temp.p(1), pg_temp.p(2), pg_temp.p(3)), 'SUCCEEDED', 'a roster');
select is(pg_temp.dnld(pg_temp.p(9, '2026-03-11')), 'SUCCEEDED', 'a flight of the next day');
insert into ledger.schd_gen_flid (operation_day, flid) values ('2026-03-10', 9), ('2026-03-10', 777);

update core.setting set schd_drop_share = 1;  -- a shrinking roster is another file's matter

-- retain
select is(pg_temp.day_plan('2026-03-10', pg_temp.p(1), pg_temp.p(2), pg_temp.p(3)), 'SUCCEEDED', 'retain: the roster decides nothing, so the plan is applied');
select is(pg_temp.alerts(), 'ROSTER_CONTRADICTION', 'retain: but somebody is told');
select matches((select a.detail from core.alert a), '9 \(roster 2026-03-10, flight 2026-03-11\)', 'which flight, and both days');
select is((select t.would_delete from ledger.schd_snap_log t where t.msg_id = pg_temp.last()), null, 'retain: it is not in O - N');
select is(pg_temp.roster('2026-03-10'), '{1,2,3}'::bigint[], 'retain: the new roster is sound');

-- ledger
select pg_temp.policy('ledger');
insert into ledger.schd_gen_flid (operation_day, flid) values ('2026-03-10', 9), ('2026-03-10', 777);
select request.open_plan('2026-03-10', 'AODB');
create temp table before as select pg_temp.fingerprint() as print;
select is(pg_temp.resp(pg_temp.p(1), pg_temp.p(4)), 'DEAD(PROTOCOL)', 'ledger: the plan is refused');
select is(pg_temp.fingerprint(), (select b.print from before b), 'ledger: nothing of it landed, nothing was deleted');
select is(pg_temp.alerts(), 'ROSTER_CONTRADICTION', 'ledger: with the alert');
select matches(pg_temp.note(), 'roster and flights disagree on the day of 9', 'ledger: and the reason');
select is(pg_temp.traces(), '2026-03-10 ROLLED_BACK covering 2->2 2 recs {}', 'ledger: and a trace');
select is(pg_temp.flop(1, 'ESTT', '{"estt": null}'), 'SUCCEEDED', 'ledger: the queue goes on');
delete from ledger.schd_gen_flid where flid = 9;
select is(pg_temp.resp(pg_temp.p(1), pg_temp.p(4)), 'SUCCEEDED', 'ledger: mended, the same plan is applied');
select is(pg_temp.told(), '1 v4 []; 4 v1 [FLNO SODT]; 2 v3 gone; 3 v3 gone', 'ledger: O - N; what is on the roster and nowhere else is passed over');

-- a flight without a day on a roster is a contradiction as well
select is(pg_temp.adft(pg_temp.f(50, '{"flno": "X"}')), 'SUCCEEDED', 'a flight without a day');
insert into ledger.schd_gen_flid (operation_day, flid) values ('2026-03-10', 50);
select is(pg_temp.day_plan('2026-03-10', pg_temp.p(1)), 'DEAD(PROTOCOL)', 'ledger: on a roster it is refused');
select matches(pg_temp.note(), '50 \(roster 2026-03-10, flight none\)', 'with the reason');
select is(pg_temp.life(4), 'ACTIVE v1 of 2026-03-10', 'ledger: nothing is deleted');

-- a named flight is claimed first
delete from ledger.schd_gen_flid where flid = 50;
select is(pg_temp.day_plan('2026-03-10', pg_temp.p(1), pg_temp.p(50)) || pg_temp.told(), 'SUCCEEDED1 v5 []; 50 v2 [FLNO SODT]; 4 v2 gone', 'ledger: (the flight without a day is taken in)');
select is(
  ledger.missing_flights('{2026-03-10}', array[row(1, '2026-03-10', '{}', '{}', '{}', '{}')::flight.incoming], 1, (select s from core.setting s)), '{50}', 'O - N itself');
select is(ledger.missing_flights('{2026-03-11}', '{}', 1, (select s from core.setting s)), '{}', 'a day without a roster has none');
select is(ledger.missing_flights('{}', '{}', 1, (select s from core.setting s)), '{}', 'no day has none');
select * from finish();
rollback;
