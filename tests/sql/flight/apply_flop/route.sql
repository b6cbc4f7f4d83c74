-- SIS 3.40: a FLOP's ROUT keeps four points, the first of a departure, the last of an arrival, without SCAT and SCDT; ERUT and the
-- routes of plans are taken whole.
begin;
\ir ../../flights.psql
select plan(13);

create function pg_temp.route(p_n integer) returns jsonb
language sql as $fn$
  select jsonb_build_object('ROUT', jsonb_agg(jsonb_build_object('source_seq', 10 - i, 'apcd', 'P' || i, 'scat', '2026-03-10T11:00:00+08:00', 'scdt', '2026-03-10T12:00:00+08:00') order by i))
  from generate_series(1, p_n) i
$fn$;
create function pg_temp.points(p_flid bigint) returns text
language sql as $fn$
  select string_agg(format('%s:%s:%s', r.ordinal, r.source_seq, r.apcd) || coalesce(' ' || r.scat, '') || coalesce(' ' || r.scdt, ''), ' ' order by r.ordinal)
  from flight.flight_route_point r where r.flid = p_flid and r.route_kind = 'ROUT'
$fn$;

select is(pg_temp.dnld(pg_temp.p(1, '2026-03-10', '{"mvin": "D"}'), pg_temp.p(2, '2026-03-10', '{"mvin": "A"}'), pg_temp.p(3)), 'SUCCEEDED',
  'a departure, an arrival, and one that does not say');
select is(pg_temp.flop(1, 'ROUT', '{}', pg_temp.route(6)) || ' ' || pg_temp.points(1), 'SUCCEEDED 1:9:P1 2:8:P2 3:7:P3 4:6:P4', 'departure: the first four');
select is(pg_temp.flop(2, 'ROUT', '{}', pg_temp.route(6)) || ' ' || pg_temp.points(2), 'SUCCEEDED 1:7:P3 2:6:P4 3:5:P5 4:4:P6', 'arrival: the last four');
select is(pg_temp.flop(3, 'ROUT', '{}', pg_temp.route(6)) || ' ' || pg_temp.points(3), 'SUCCEEDED 1:9:P1 2:8:P2 3:7:P3 4:6:P4', 'unsaid: the first four');
select is(pg_temp.flop(2, 'ROUT', '{}', pg_temp.route(3)) || ' ' || pg_temp.points(2), 'SUCCEEDED 1:9:P1 2:8:P2 3:7:P3', 'fewer than four are kept');
select is(pg_temp.flop(1, 'ROUT', '{"mvin": "A"}', pg_temp.route(5)) || ' ' || pg_temp.points(1), 'SUCCEEDED 1:8:P2 2:7:P3 3:6:P4 4:5:P5', 'MVIN of the same message counts');
select is(pg_temp.flop(1, 'ROUT', '{"mvin": null}', pg_temp.route(5)) || ' ' || pg_temp.points(1), 'SUCCEEDED 1:9:P1 2:8:P2 3:7:P3 4:6:P4', 'also an empty one');
select is(concat_ws(' ', pg_temp.flop(1, 'ROUT', '{}', '{"ROUT": []}'), pg_temp.points(1), pg_temp.told()), 'SUCCEEDED 1 v5 [ROUT]', 'empty clears');
select is(concat_ws(' ', pg_temp.flop(3, 'ROUT', '{}', pg_temp.route(4)), pg_temp.told()), 'SUCCEEDED 3 v3 []', 'what was cut away is no change');
select is(
  concat_ws(' ', pg_temp.flop(3, 'ERUT', '{}', jsonb_build_object('ERUT', pg_temp.route(6) -> 'ROUT')), jsonb_array_length(pg_temp.doc(3) -> 'ERUT'),
    pg_temp.doc(3) #>> '{ERUT,5,SCAT}'),
  'SUCCEEDED 6 2026-03-10T11:00:00+08:00', 'ERUT is not cut');
select is(
  concat_ws(' ', pg_temp.dnld(pg_temp.p(3, '2026-03-10', '{}', pg_temp.route(6))), jsonb_array_length(pg_temp.doc(3) -> 'ROUT'), pg_temp.doc(3) #>> '{ROUT,5,SCAT}'),
  'SUCCEEDED 6 2026-03-10T11:00:00+08:00', 'a plan''s route is taken whole');
select is(
  concat_ws(' ', pg_temp.adft(pg_temp.f(3, '{}', pg_temp.route(5))), jsonb_array_length(pg_temp.doc(3) -> 'ROUT')), 'SUCCEEDED 5', 'so is an ADFT''s');
select is(pg_temp.flop(3, 'ROUT', '{}', '{"ROUT": [{"apcd": "SZX"}, {}]}') || ' ' || (pg_temp.doc(3) -> 'ROUT'), 'SUCCEEDED [{"APCD": "SZX", "ORDINAL": 1}, {"ORDINAL": 2}]',
  'points without numbers or codes');
select * from finish();
rollback;
