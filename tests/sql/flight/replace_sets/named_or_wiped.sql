-- Which sets a message replaces: those it names, and all of a flight that starts anew or is described in full (INV-14, fs 5.4).
begin;
\ir ../../flights.psql
select plan(6);
create function pg_temp.sets(p_flid bigint) returns text
language sql as $fn$ select string_agg(k, ' ' order by k) from jsonb_object_keys(pg_temp.doc(p_flid)) k where flight.set_table(k) is not null $fn$;
select pg_temp.dnld(pg_temp.p(1, '2026-03-10', '{}', '{"GTDT": [{"gate": "A"}], "ROUT": [{"apcd": "SZX"}], "ERUT": [{"apcd": "PEK"}]}'));
select is(pg_temp.sets(1), 'ERUT GTDT ROUT', 'a plan with three sets');
select is(pg_temp.dnld(pg_temp.p(1, '2026-03-10', '{}', '{"ROUT": []}')) || ' ' || pg_temp.told() || ' ' || pg_temp.sets(1), 'SUCCEEDED 1 v2 [ROUT] ERUT GTDT', 'named and empty: cleared; not named: kept');
select is(pg_temp.dnld(pg_temp.p(1, '2026-03-10', '{}', '{"GTDT": [{"gate": "A"}]}')) || ' ' || pg_temp.told(), 'SUCCEEDED 1 v3 []', 'the same elements: no change');
update core.setting set policy_absent_field = 'CLEAR';
select is(pg_temp.dnld(pg_temp.p(1, '2026-03-10', '{}', '{"GTDT": [{"gate": "A"}]}')) || ' ' || pg_temp.told() || ' ' || pg_temp.sets(1), 'SUCCEEDED 1 v4 [ERUT] GTDT', 'described in full: what is not named goes');
update core.setting set policy_absent_field = 'KEEP';
select pg_temp.fdel(1);
select is(pg_temp.dnld(pg_temp.p(1)) || ' ' || pg_temp.told() || coalesce(pg_temp.sets(1), ' none'), 'SUCCEEDED 1 v6 [FLNO SODT] none', 'a new life has none of the old one''s');
select is(flight.replace_sets('{}'), '{}'::jsonb, 'no flights, no changes');
select * from finish();
rollback;
