-- A flight that was deleted and is named again starts a new life: a higher version, nothing of the old one left but, under retain, the
-- day (design 11.10). Versions never repeat.
begin;
\ir ../../flights.psql
select plan(31);

create function pg_temp.rich(p_day date default '2026-03-10') returns jsonb
language sql as $fn$
  select pg_temp.p(1, p_day, '{"reno": "B6001", "estt": "2026-03-10T10:20:00+08:00", "maxp": 170, "ddes": "CAN"}',
    (select jsonb_object_agg(t.tag, pg_temp.elements(t.tag, 2)) from unnest('{GTDT,CKDT,CLDT,CHDT,PSDT,CHOT,DELY,ABTM,ROUT,ERUT}'::text[]) t(tag)), '{"RUNW": "02L"}')
    || '{"sections": {"SRVT": ["<SRVT/>"], "VIPF": ["<VIPF/>"]}}'
$fn$;
create function pg_temp.rows() returns bigint
language sql as $fn$
  select (select count(*) from flight.flight_gate) + (select count(*) from flight.flight_checkin) + (select count(*) from flight.flight_belt)
    + (select count(*) from flight.flight_chute) + (select count(*) from flight.flight_stand) + (select count(*) from flight.flight_chock)
    + (select count(*) from flight.flight_delay) + (select count(*) from flight.flight_bridge) + (select count(*) from flight.flight_route_point)
$fn$;

-- retain
select is(pg_temp.dnld(pg_temp.rich()), 'SUCCEEDED', 'a flight with everything');
select is(pg_temp.rows(), 20::bigint, 'ten sets of two');
select is(pg_temp.fdel(1) || pg_temp.life(1) || pg_temp.told(), 'SUCCEEDEDDELETED v2 of 2026-03-101 v2 gone', 'retain: deleted');
select is(pg_temp.rows() || (pg_temp.doc(1) ->> 'RENO'), '20B6001', 'retain: its details are kept');
select is((select e.payload from outbox.msg_event e where e.target = 'KAFKA:schd'), null, 'retain: the tombstone is null');
select is(pg_temp.dnld(pg_temp.p(1)) || pg_temp.life(1), 'SUCCEEDEDACTIVE v3 of 2026-03-10', 'retain: a new life');
select is(pg_temp.doc(1), '{"FLNO": "CA1", "SODT": "2026-03-10T10:00:00+08:00"}'::jsonb, 'retain: nothing is left of the old one');
select is(pg_temp.rows(), 0::bigint, 'retain: no detail either');
select is((select count(*) from flight.flight_section), 0::bigint, 'retain: no section either');
select is(pg_temp.told(), '1 v3 [FLNO SODT]', 'retain: CHANGED is measured against nothing');
select is((select f.created_at = f.updated_at from flight.flight_schd f), true, 'it begins now');
select is(pg_temp.fdel(1) || pg_temp.adft(pg_temp.rich()) || pg_temp.life(1), 'SUCCEEDEDSUCCEEDEDACTIVE v5 of 2026-03-10', 'retain: an ADFT starts one too');
select is(pg_temp.told(), '1 v5 [FLNO SODT RENO ESTT MAXP DDES RUNW GTDT CKDT CLDT CHDT PSDT CHOT DELY ABTM ROUT ERUT]', 'all it has is new');
select is(pg_temp.fdel(1) || pg_temp.dnld(pg_temp.rich()), 'SUCCEEDEDSUCCEEDED', 'retain: the same flight with the same content');
select is(pg_temp.told(), '1 v7 [FLNO SODT RENO ESTT MAXP DDES RUNW GTDT CKDT CLDT CHDT PSDT CHOT DELY ABTM ROUT ERUT]', 'is all new again');
select is(pg_temp.rows(), 20::bigint, 'with its details');

-- ledger
select pg_temp.policy('ledger');
select is(pg_temp.fdel(1) || coalesce(pg_temp.life(1), ' gone') || pg_temp.told(), 'SUCCEEDED gone1 v8 gone', 'ledger: rows go');
select is(pg_temp.rows() + (select count(*) from flight.flight_section), 0::bigint, 'ledger: details and sections with them');
select is(pg_temp.dnld(pg_temp.p(1, '2026-03-12')) || pg_temp.life(1) || pg_temp.told(), 'SUCCEEDEDACTIVE v9 of 2026-03-121 v9 [FLNO SODT]', 'ledger: a new life on another day goes on counting');
select is(pg_temp.fdel(1) || pg_temp.fdel(1) || pg_temp.adft(pg_temp.f(1, '{"flno": "X"}')) || pg_temp.life(1), 'SUCCEEDEDSUCCEEDEDSUCCEEDEDACTIVE v11 of no day', 'ledger: by ADFT, without a day');

-- from retain to ledger
select pg_temp.policy('retain');
select is(pg_temp.day_plan('2026-03-20', pg_temp.p(2, '2026-03-20'), pg_temp.p(3, '2026-03-20')), 'SUCCEEDED', 'retain: two flights on a roster');
select is(pg_temp.fdel(2) || pg_temp.life(2), 'SUCCEEDEDDELETED v2 of 2026-03-20', 'retain: one is deleted');
select pg_temp.policy('ledger');
select is(pg_temp.fdel(2) || pg_temp.note() || pg_temp.life(2), 'SUCCEEDEDno-active-flightDELETED v2 of 2026-03-20', 'ledger: FDEL finds it deleted');
select is(pg_temp.day_plan('2026-03-21', pg_temp.p(2, '2026-03-21')) || pg_temp.life(2) || pg_temp.told(), 'SUCCEEDEDACTIVE v3 of 2026-03-212 v3 [FLNO SODT]', 'ledger: it may live again on another day');
select is(pg_temp.roster('2026-03-20') || pg_temp.roster('2026-03-21'), '{3,2}'::bigint[], 'and is on that day''s roster only');
select is(pg_temp.day_plan('2026-03-20', pg_temp.p(4, '2026-03-20')) || pg_temp.told(), 'SUCCEEDED4 v1 [FLNO SODT]; 3 v2 gone', 'the old day''s next plan does not touch it');
select is(pg_temp.life(2), 'ACTIVE v3 of 2026-03-21', 'it lives');

-- physical deletion by somebody else (history): the version is remembered, the roster may still name it
select flight.remove_flights('{2}', core.now());
select is(pg_temp.life(2), null, 'the row is gone');
insert into ledger.schd_gen_flid (operation_day, flid) values ('2026-03-21', 2);
select is(pg_temp.day_plan('2026-03-22', pg_temp.p(2, '2026-03-22')) || pg_temp.life(2), 'SUCCEEDEDACTIVE v4 of 2026-03-22', 'a plan of another day names it: a new life, the version goes on');
select is((select array_agg(o.operation_day) from ledger.schd_gen_flid o where o.flid = 2), '{2026-03-22}'::date[], 'one roster names it, however the old one came to keep it');
select is((select count(*) from (select e.flid, e.state_version from outbox.msg_event e where e.target = 'KAFKA:msg' group by 1, 2 having count(*) > 1) t), 0::bigint, 'no version was told twice');
select * from finish();
rollback;
