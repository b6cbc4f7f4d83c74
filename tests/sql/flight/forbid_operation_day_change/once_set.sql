-- INV-12: the operational day, once set, never changes, not even to null; the last guard against anybody's update.
begin;
\ir ../../flights.psql
select plan(9);

select pg_temp.dnld(pg_temp.p(1));
select pg_temp.adft(pg_temp.f(2));
select throws_ok('update flight.flight_schd set operation_day = ''2026-03-11'' where flid = 1', 'MX013', 'flight 1 belongs to operational day 2026-03-10 and cannot move to 2026-03-11', 'another day');
select throws_ok('update flight.flight_schd set operation_day = null where flid = 1', 'MX013', 'flight 1 belongs to operational day 2026-03-10 and cannot move to none', 'no day');
select lives_ok('update flight.flight_schd set operation_day = ''2026-03-10'' where flid = 1', 'the same day');
select lives_ok('update flight.flight_schd set operation_day = ''2026-03-12'' where flid = 2', 'the first day');
select throws_ok('update flight.flight_schd set operation_day = ''2026-03-13'' where flid = 2', 'MX013', null, 'the second');
select lives_ok('update flight.flight_schd set flno = ''X'' where flid = 1', 'other columns do not mind');
update flight.flight_schd set state = 'DELETED' where flid = 1;
select throws_ok('update flight.flight_schd set operation_day = ''2026-03-11'' where flid = 1', 'MX013', null, 'a deleted flight keeps its day too');
select throws_ok(
  $$insert into flight.flight_schd (flid, state_version, updated_at, operation_day, last_message_id, created_at) values (1, 9, now(), '2026-03-11', 1, now())
    on conflict (flid) do update set operation_day = excluded.operation_day$$, 'MX013', null, 'by way of an upsert as well');
select is((select tgenabled::text from pg_trigger where tgname = 'forbid_operation_day_change'), 'O', 'the trigger is on');
select * from finish();
rollback;
