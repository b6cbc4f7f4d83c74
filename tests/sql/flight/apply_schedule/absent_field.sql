-- What a plan leaves out of a flight: kept (implementation.md 12.1), cleared (flight-state.md 5.4). Explicitly empty clears under both.
begin;
\ir ../../flights.psql
select plan(22);

create function pg_temp.full_flight() returns text
language sql as $fn$
  select pg_temp.send('SCHD_DNLD', array[pg_temp.p(1, '2026-03-10', '{"reno": "B6001", "estt": "2026-03-10T10:20:00+08:00", "maxp": 170, "ddes": "CAN", "ddir": "O", "reid": "R"}',
    jsonb_build_object('GTDT', pg_temp.elements('GTDT', 2), 'ROUT', pg_temp.elements('ROUT', 2), 'ERUT', pg_temp.elements('ERUT', 1), 'DELY', pg_temp.elements('DELY', 1)),
    '{"TOBT": "2026-03-10T10:05:00+08:00", "RUNW": "02L"}') || '{"sections": {"SRVT": ["<SRVT/>"]}}'])
$fn$;

select is(pg_temp.full_flight(), 'SUCCEEDED', 'a flight with everything');
create temp table full_doc as select pg_temp.doc(1) as doc;
select is(pg_temp.told(), '1 v1 [FLNO SODT RENO ESTT MAXP DDES DDIR REID TOBT RUNW GTDT DELY ROUT ERUT]', 'told in the order of the catalogue');

select is(pg_temp.dnld(pg_temp.p(1)) || pg_temp.told(), 'SUCCEEDED1 v2 []', 'retain: a plan without the rest');
select is(pg_temp.doc(1), (select d.doc from full_doc d), 'retain: everything is kept');
select is(
  pg_temp.dnld(pg_temp.p(1, '2026-03-10', '{"reno": null, "maxp": null, "ddes": null, "ddir": null}', '{"GTDT": [], "ERUT": []}', '{"RUNW": null}')) || pg_temp.told(),
  'SUCCEEDED1 v3 [RENO MAXP DDES DDIR RUNW GTDT ERUT]', 'retain: explicitly empty clears');
select is(pg_temp.doc(1), (select d.doc - '{RENO,MAXP,DDES,DDIR,RUNW,GTDT,ERUT}'::text[] from full_doc d), 'retain: that and no more');
select is(pg_temp.dnld(pg_temp.p(1, '2026-03-10', '{}', jsonb_build_object('ROUT', pg_temp.elements('ROUT', 1)))) || pg_temp.told(), 'SUCCEEDED1 v4 [ROUT]', 'retain: a set is replaced');
select is(pg_temp.full_flight() || pg_temp.told(), 'SUCCEEDED1 v5 [RENO MAXP DDES DDIR RUNW GTDT ROUT ERUT]', 'everything again');

select pg_temp.policy('ledger');
select is(pg_temp.full_flight() || pg_temp.told(), 'SUCCEEDED1 v6 []', 'ledger: the same plan changes nothing');
select is(pg_temp.doc(1), (select d.doc from full_doc d), 'and leaves the same state');
select is(pg_temp.dnld(pg_temp.p(1)) || pg_temp.told(), 'SUCCEEDED1 v7 [RENO ESTT MAXP DDES DDIR REID TOBT RUNW GTDT DELY ROUT ERUT]', 'ledger: a plan without the rest');
select is(pg_temp.doc(1), '{"FLNO": "CA1", "SODT": "2026-03-10T10:00:00+08:00"}'::jsonb, 'ledger: all the rest is cleared, site scalars, diversion and return too');
select is((select s.content from flight.flight_section s), '<SRVT/>', 'ledger: SRVT is no mapped field: what occurred stays');
select is(
  pg_temp.dnld(pg_temp.p(1, '2026-03-10', '{"reno": null, "acft": "320"}', '{"GTDT": [], "PSDT": [{"psst": "101"}]}')) || pg_temp.told(), 'SUCCEEDED1 v8 [ACFT PSDT]',
  'ledger: empty is as absent');
select is(pg_temp.flop(1, 'ESTT', '{"estt": "2026-03-10T10:20:00+08:00"}') || pg_temp.told(), 'SUCCEEDED1 v9 [ESTT]', 'ledger: a FLOP''s absence keeps');
select is(pg_temp.adft(pg_temp.f(1, '{"reno": "B1"}')) || pg_temp.told(), 'SUCCEEDED1 v10 [RENO]', 'ledger: an ADFT''s absence keeps');
select is((select array_agg(k order by k) from jsonb_object_keys(pg_temp.doc(1)) k), '{ACFT,ESTT,FLNO,PSDT,RENO,SODT}'::text[], 'all still there');
select is(pg_temp.day_plan('2026-03-10', pg_temp.p(1)) || pg_temp.told(), 'SUCCEEDED1 v11 [ACFT RENO ESTT PSDT]', 'ledger: RESP clears like DNLD');
select is((select f.last_message_id from flight.flight_schd f), pg_temp.last(), 'LAST_MESSAGE_ID is that of the last message');

update core.setting set policy_absent_field = 'KEEP';
select is(pg_temp.flop(1, 'ESTT', '{"estt": "2026-03-10T10:20:00+08:00"}'), 'SUCCEEDED', 'a value');
select is(pg_temp.dnld(pg_temp.p(1)) || pg_temp.told(), 'SUCCEEDED1 v13 []', 'the switch alone decides');
select is(pg_temp.dnld(pg_temp.p(1, '2026-03-10', '{"flno": "CA9"}'), pg_temp.p(2)) || pg_temp.told(), 'SUCCEEDED1 v14 [FLNO]; 2 v1 [FLNO SODT]', 'several flights in the order of the plan');
select * from finish();
rollback;
