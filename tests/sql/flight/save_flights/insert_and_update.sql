-- Saves whole rows, new and old, in one statement; every column; the day is guarded by the trigger.
begin;
\ir ../../flights.psql
select plan(6);

select pg_temp.adft(pg_temp.f(1));
create temp table wanted as
select r.* from jsonb_populate_record(null::flight.flight_schd,
  (select jsonb_object_agg(a.attname, case format_type(a.atttypid, null)
     when 'timestamp with time zone' then '"2026-03-10T11:00:00+08:00"' when 'date' then '"2026-03-10"' when 'jsonb' then '{"RUNW": "02L"}' when 'text' then '"t"' else '7' end::jsonb)
   from pg_attribute a where a.attrelid = 'flight.flight_schd'::regclass and a.attnum > 0) || '{"flid": 1, "state": "DELETED"}') r;
select lives_ok('select flight.save_flights(array(select w::text::flight.flight_schd from wanted w))', 'every column of a flight that is there');
select is((select f::text from flight.flight_schd f), (select w::text from wanted w), 'is saved');
update wanted set flid = 2;
select lives_ok('select flight.save_flights(array(select w::text::flight.flight_schd from wanted w))', 'and of one that is not');
select is((select f::text from flight.flight_schd f where f.flid = 2), (select w::text from wanted w), 'likewise');
update wanted set operation_day = '2026-03-11';
select throws_ok('select flight.save_flights(array(select w::text::flight.flight_schd from wanted w))', 'MX013', null, 'but for another day');
select lives_ok('select flight.save_flights(''{}'')', 'nobody');
select * from finish();
rollback;
