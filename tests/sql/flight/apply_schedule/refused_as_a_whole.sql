-- A plan is applied whole or not at all (implementation.md 7.1, flight-state.md 5.2, design 11.16): every check ends DEAD(PROTOCOL),
-- nothing of the plan lands, its trace says why, and the queue goes on. The same under both policies.
begin;
\ir ../../flights.psql
select plan(65);

create temp table bad (what text, records jsonb[], meta jsonb, reason text);
insert into bad values
  ('no RECS', array[pg_temp.p(2)], '{"declared": null}', 'no RECS'),
  ('RECS empty', array[pg_temp.p(2)], '{"declared": ""}', 'RECS of .* not 0 to 9999'),
  ('RECS no number', array[pg_temp.p(2)], '{"declared": "one"}', 'RECS of .* not 0 to 9999'),
  ('RECS negative', array[pg_temp.p(2)], '{"declared": "-1"}', 'RECS of .* not 0 to 9999'),
  ('RECS with a fraction', array[pg_temp.p(2)], '{"declared": "1.0"}', 'RECS of .* not 0 to 9999'),
  ('RECS too large', array[pg_temp.p(2)], '{"declared": "10000"}', 'RECS of .* not 0 to 9999'),
  ('RECS far too large', array[pg_temp.p(2)], '{"declared": "99999999999999999999"}', 'RECS of .* not 0 to 9999'),
  ('RECS more than came', array[pg_temp.p(2)], '{"declared": "2"}', 'announces 2 records and carries 1'),
  ('RECS fewer than came', array[pg_temp.p(2), pg_temp.p(3)], '{"declared": "1"}', 'announces 1 records and carries 2'),
  ('RECS 0 and one came', array[pg_temp.p(2)], '{"declared": "0"}', 'announces 0 records and carries 1'),
  ('no FLID', array[pg_temp.p(2), pg_temp.p(null)], '{}', 'record 2 .* no FLID'),
  ('FLID not a number', array[pg_temp.p(2), pg_temp.p(3) || '{"flid": "12A"}'], '{}', 'record 2 .*12A'),
  ('FLID of 13 digits', array[pg_temp.p(2), pg_temp.p(3) || '{"flid": "1234567890123"}'], '{}', 'record 2 .*1234567890123'),
  ('FLID twice', array[pg_temp.p(3), pg_temp.p(2), pg_temp.p(3)], '{}', 'FLID 3 stands in records 1 and 3'),
  ('FLID twice as a number', array[pg_temp.p(3), pg_temp.p(2) || '{"flid": "0003"}'], '{}', 'FLID 3 stands in records 1 and 2'),
  ('no SODT', array[pg_temp.p(2), pg_temp.f(3, '{"flno": "CA3"}')], '{}', 'no SODT for flights 3'),
  ('SODT empty', array[pg_temp.p(2), pg_temp.p(3, '2026-03-10', '{"sodt": null}')], '{}', 'no SODT for flights 3'),
  ('another day', array[pg_temp.p(2), pg_temp.p(1, '2026-03-11')], '{}', 'moves flights to another operational day: 1 \(2026-03-10, now said to be 2026-03-11\)');

create function pg_temp.try(p_bad bad) returns text
language plpgsql as $fn$
declare
  v_before constant text := pg_temp.fingerprint();
  v_ending constant text := pg_temp.send('SCHD_DNLD', p_bad.records, p_bad.meta);
begin
  return concat_ws(' ', v_ending, case when pg_temp.note() ~ p_bad.reason then 'as expected' else pg_temp.note() end,
    case when pg_temp.fingerprint() = v_before then 'nothing landed' else 'something landed' end,
    (select string_agg(distinct t.result, ' ') from ledger.schd_snap_log t where t.msg_id = pg_temp.last()),
    (select count(*) filter (where t.reason = pg_temp.note()) > 0 from ledger.schd_snap_log t where t.msg_id = pg_temp.last()));
end
$fn$;

select is(pg_temp.day_plan('2026-03-10', pg_temp.p(1), pg_temp.p(4)), 'SUCCEEDED', 'a roster that a wrong plan could harm');
select is(pg_temp.try(b), 'DEAD(PROTOCOL) as expected nothing landed ROLLED_BACK t', 'retain: ' || b.what) from bad b;
select pg_temp.policy('ledger');
select is(pg_temp.try(b), 'DEAD(PROTOCOL) as expected nothing landed ROLLED_BACK t', 'ledger: ' || b.what) from bad b;

-- The answer to a request is judged the same way, and the request stays open.
select request.open_plan('2026-03-10');
select is(
  pg_temp.send('SCHD_RESP', b.records, b.meta) || (select q.state from request.req_track q order by q.request_id desc limit 1), 'DEAD(PROTOCOL)PENDING', 'RESP: ' || b.what)
from bad b;
select is(
  pg_temp.resp(pg_temp.p(2), pg_temp.p(3, '2026-03-11')) || (select q.state from request.req_track q order by q.request_id desc limit 1),
  'DEAD(PROTOCOL)PENDING', 'RESP: one record is not of the day asked for');
select matches(pg_temp.note(), 'answers the request for 2026-03-10 with flights of other days: 3 \(2026-03-11\)', 'it says which');
select is(pg_temp.traces(), '2026-03-10 ROLLED_BACK covering 1->1 1 recs {RECS_DROP,DAY_MISMATCH}; 2026-03-11 ROLLED_BACK -->- 1 recs {DAY_MISMATCH}', 'and the trace is flagged');
select is((select m.error_sqlstate from inbox.proc_state m where m.msg_id = pg_temp.last()), 'MX001', 'by SQLSTATE');
select is(pg_temp.alerts(), null, 'nobody is woken: it is the sender''s');
select is(pg_temp.roster('2026-03-10'), '{1,4}'::bigint[], 'the roster stands');
select is(pg_temp.life(1), 'ACTIVE v1 of 2026-03-10', 'so do the flights');
select is((select count(*) from inbox.stage_message), 0::bigint, 'nothing is left in staging');
select is((select m.flids from inbox.proc_state m where m.msg_id = pg_temp.last()), '{2,3}'::bigint[], 'the dead message remembers its flights');
select is(pg_temp.send('SCHD_RESP', array[pg_temp.p(1)], '{"declared": "0001"}'), 'SUCCEEDED', 'RECS with leading zeros is a number; the queue goes on');
select * from finish();
rollback;
