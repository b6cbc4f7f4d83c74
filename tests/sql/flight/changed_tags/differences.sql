-- CHANGED: tags whose value differs from the version before, in catalogue order, null to value and value to null included (design 11.3).
begin;
\ir ../../flights.psql
select plan(8);
select pg_temp.dnld(pg_temp.p(1, '2026-03-10', '{"maxp": 170}', '{}', '{"RUNW": "01"}'));
select is(pg_temp.flop(1, 'MIX', '{"vipp": "1", "acft": "738", "estt": "2026-03-10T11:00:00+08:00"}') || ' ' || pg_temp.told(), 'SUCCEEDED 1 v2 [ACFT ESTT VIPP]', 'catalogue order, whatever the message''s');
select is(pg_temp.flop(1, 'MAXP', '{"maxp": 170}') || ' ' || pg_temp.told(), 'SUCCEEDED 1 v3 []', 'the value it has: not changed, and told');
select is(pg_temp.flop(1, 'MAXP', '{"maxp": null}') || ' ' || pg_temp.told(), 'SUCCEEDED 1 v4 [MAXP]', 'value to null');
select is(pg_temp.flop(1, 'MAXP', '{"maxp": null}') || ' ' || pg_temp.told(), 'SUCCEEDED 1 v5 []', 'null to null');
select is(pg_temp.flop(1, 'MAXP', '{"maxp": 0}') || ' ' || pg_temp.told(), 'SUCCEEDED 1 v6 [MAXP]', 'null to value');
select is(pg_temp.flop(1, 'ESTT', '{"estt": "2026-03-10T03:00:00Z"}') || ' ' || pg_temp.told(), 'SUCCEEDED 1 v7 []', 'the same moment in another offset');
select is(pg_temp.flop(1, 'RUNW', '{}', '{}', '{"RUNW": "19", "TOBT": "2026-03-10T11:00:00+08:00"}') || ' ' || pg_temp.told(), 'SUCCEEDED 1 v8 [TOBT RUNW]', 'the site''s scalars in their own order');
select is(pg_temp.flop(1, 'CHOT', '{}', '{"CHOT": [{"chid": "ON"}]}') || ' ' || pg_temp.told(), 'SUCCEEDED 1 v9 [CHOT]', 'a set');
select * from finish();
rollback;
