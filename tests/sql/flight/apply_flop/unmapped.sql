-- Payload but no known tag: SUCCEEDED, nothing moves, nothing is told, the note says so, and the alert comes once a day for each STYP
-- (design 11.4).
begin;
\ir ../../flights.psql
select plan(16);

select is(pg_temp.dnld(pg_temp.p(7701002)), 'SUCCEEDED', 'a flight');
create temp table before as select pg_temp.fingerprint() as print;
create function pg_temp.raised() returns text language sql as $fn$
  select string_agg(format('%s+%s', substring(a.detail from 'FLOP-([^ ]+)'), a.repeats), ' ' order by a.alert_id) from core.alert a where a.code = 'UNMAPPED_STYP'
$fn$;

select is(pg_temp.flop(7701002, 'BDPB') || ' ' || pg_temp.note(), 'SUCCEEDED unmapped:BDPB', 'noted');
select is(pg_temp.raised(), 'BDPB+0', 'and told to a person');
select is(pg_temp.flop(7701002, 'bdpb') || ' ' || pg_temp.note(), 'SUCCEEDED unmapped:bdpb', 'again, in lower case');
select is(pg_temp.raised(), 'BDPB+1', 'counted on the same alert');
select is(pg_temp.flop(7701002, 'ZZZZ') || ' ' || pg_temp.note(), 'SUCCEEDED unmapped:ZZZZ', 'another STYP');
select is(pg_temp.raised(), 'BDPB+1 ZZZZ+0', 'has its own');
set local msgx.now to '2026-03-10 23:59:59+08';
select is(pg_temp.flop(7701002, 'ZZZZ') || ' ' || pg_temp.raised(), 'SUCCEEDED BDPB+1 ZZZZ+1', 'to the end of the local day');
set local msgx.now to '2026-03-11 00:00:01+08';
select is(pg_temp.flop(7701002, 'ZZZZ') || ' ' || pg_temp.raised(), 'SUCCEEDED BDPB+1 ZZZZ+1 ZZZZ+0', 'a new local day, a new alert');
select is(pg_temp.flop(999, 'BDPB') || ' ' || pg_temp.note(), 'SUCCEEDED unmapped:BDPB', 'for an unknown flight too');
select is(pg_temp.fingerprint(), (select b.print from before b), 'nothing moved, nothing told');
select is(
  pg_temp.send('FLOP', array[pg_temp.f(7701002)], '{"styp": "ESTX", "unmapped": {"ESTX": 1}}')
    || ' ' || pg_temp.note(),
  'SUCCEEDED unmapped:ESTX', 'the STYP it was sent with');
select is((select m.unmapped::text from inbox.proc_state m where m.msg_id = pg_temp.last()), '{"ESTX": 1}', 'tags that nobody knows are kept with the outcome');
select is(
  concat_ws(' ', pg_temp.send('FLOP', array[pg_temp.f(7701002, '{"remc": "x"}')], '{"styp": "ESTX", "unmapped": {"ESTX": 1}}'), pg_temp.note(), pg_temp.told()),
  'SUCCEEDED 7701002 v2 [REMC]', 'one known tag is enough to merge');
select is(
  concat_ws(' ', pg_temp.flop(7701002, 'SRVT', '{}', '{}', '{}', '{"SRVT": ["<SRVT OPER=\"A\"/>"]}'), pg_temp.note(), pg_temp.told()),
  'SUCCEEDED 7701002 v3 []', 'SRVT is known: the flight moves and is told');
select is((select s.content from flight.flight_section s), '<SRVT OPER="A"/>', 'and what stood in it is kept');
select * from finish();
rollback;
