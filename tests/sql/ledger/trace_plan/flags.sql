-- A row for each attempt and day, RESULT and FLAGS apart: EMPTY, RECS_DROP, OUT_OF_ORDER, SEQN_REGRESSION, DAY_MISMATCH; digests of both
-- rosters; alerts in the plan's own transaction (flight-state.md 5.6).
begin;
\ir ../../flights.psql
select plan(38);

create function pg_temp.sent(p_meta jsonb, variadic p_records jsonb[]) returns text
language plpgsql as $fn$
begin
  perform request.open_plan('2026-03-10', coalesce(p_meta ->> 'sndr', 'AODB'));
  return pg_temp.send('SCHD_RESP', p_records, p_meta) || coalesce(' ' || pg_temp.alerts(), '') || ' ' || coalesce(pg_temp.traces(), '');
end
$fn$;
create function pg_temp.many(p_from integer, p_to integer) returns jsonb[] language sql as $fn$ select array(select pg_temp.p(i) from generate_series(p_from, p_to) i) $fn$;

select is(pg_temp.sent('{"seqn": "100"}', variadic pg_temp.many(1, 10)), 'SUCCEEDED 2026-03-10 COMMITTED covering -->1 10 recs {}', 'the first');
select is(
  (select row(t.old_flid_digest, t.new_flid_digest = ledger.roster_digest('{1,2,3,4,5,6,7,8,9,10}'), t.recv_at = core.now(), t.reason, t.archive_key, t.duration_ms >= 0)::text from ledger.schd_snap_log t),
  '(,t,t,,,t)', 'no roster before, its own after');
select is(pg_temp.sent('{"seqn": "101"}', variadic pg_temp.many(1, 7)), 'SUCCEEDED 2026-03-10 COMMITTED covering 1->2 7 recs {}', 'a shrink by the allowed share');
select is(
  (select row(t.old_flid_digest = ledger.roster_digest('{1,2,3,4,5,6,7,8,9,10}'), t.new_flid_digest = ledger.roster_digest('{1,2,3,4,5,6,7}'))::text from ledger.schd_snap_log t order by t.log_id desc limit 1),
  '(t,t)', 'both digests');
select is(pg_temp.sent('{"seqn": "102"}', variadic pg_temp.many(1, 4)), 'SUCCEEDED RECS_DROP 2026-03-10 COMMITTED covering 2->3 4 recs {RECS_DROP}', 'a shrink by more');
update core.setting set schd_drop_share = 0.9;
select is(pg_temp.sent('{"seqn": "103"}', variadic pg_temp.many(1, 1)), 'SUCCEEDED 2026-03-10 COMMITTED covering 3->4 1 recs {}', 'the share is a setting');
update core.setting set schd_drop_share = 0.3;
select is(pg_temp.sent('{"seqn": "104"}', variadic '{}'), 'SUCCEEDED RECS_DROP 2026-03-10 COMMITTED covering 4->5 0 recs {EMPTY,RECS_DROP}', 'an empty plan');
select is(pg_temp.sent('{"seqn": "105"}', variadic '{}'), 'SUCCEEDED 2026-03-10 COMMITTED covering 5->6 0 recs {EMPTY}', 'and another: nothing dropped');
select is(pg_temp.sent('{"seqn": "106"}', variadic pg_temp.many(1, 3)), 'SUCCEEDED 2026-03-10 COMMITTED covering 6->7 3 recs {}', 'full again');

-- order
select is(pg_temp.sent('{"seqn": "50"}', variadic pg_temp.many(1, 3)), 'SUCCEEDED SEQN_REGRESSION 2026-03-10 COMMITTED covering 7->8 3 recs {SEQN_REGRESSION}', 'SEQN falls: told, and applied');
select is(pg_temp.sent('{"seqn": "51"}', variadic pg_temp.many(1, 3)), 'SUCCEEDED 2026-03-10 COMMITTED covering 8->9 3 recs {}', 'it counts on from there');
select is(pg_temp.sent('{"seqn": "9"}', variadic pg_temp.many(1, 3)), 'SUCCEEDED SEQN_REGRESSION 2026-03-10 COMMITTED covering 9->10 3 recs {SEQN_REGRESSION}', 'as a number, not as text');
select is(pg_temp.sent('{"seqn": "A1"}', variadic pg_temp.many(1, 3)), 'SUCCEEDED 2026-03-10 COMMITTED covering 10->11 3 recs {}', 'what is no number is not compared');
select is(pg_temp.sent('{"seqn": "1", "sndr": "OTHER"}', variadic pg_temp.many(1, 3)), 'SUCCEEDED 2026-03-10 COMMITTED covering 11->12 3 recs {}', 'each sender counts for itself');
select is(pg_temp.sent('{"seqn": "200", "dttm": "2026-03-09T23:59:59+08:00"}', variadic pg_temp.many(1, 3)), 'SUCCEEDED 2026-03-10 COMMITTED covering 12->13 3 recs {OUT_OF_ORDER}', 'DTTM falls');
select is(pg_temp.sent('{"seqn": "199", "dttm": "2026-03-09T23:59:58+08:00"}', variadic pg_temp.many(1, 3)), 'SUCCEEDED SEQN_REGRESSION 2026-03-10 COMMITTED covering 13->14 3 recs {OUT_OF_ORDER,SEQN_REGRESSION}', 'both');
select is(pg_temp.sent('{"seqn": "300"}', variadic pg_temp.many(1, 3)), 'SUCCEEDED 2026-03-10 COMMITTED covering 14->15 3 recs {}', 'in order again');

-- refused
select is(pg_temp.sent('{"seqn": "10", "declared": "7"}', variadic pg_temp.many(1, 3)), 'DEAD(PROTOCOL) 2026-03-10 ROLLED_BACK covering 15->15 3 recs {SEQN_REGRESSION}', 'refused: flagged, no alert of its own');
select is((select row(s.seqn, s.message_id)::text from ledger.plan_sequence s where s.sndr = 'AODB'), format('(300,%s)', pg_temp.last() - 1), 'a refused plan does not count for the order');
select is((select t.reason from ledger.schd_snap_log t order by t.log_id desc limit 1), pg_temp.note(), 'the trace has the reason');
select pg_temp.send('SCHD_DNLD', array[pg_temp.p(1, '2026-03-11')], '{"seqn": "301"}');
select is(pg_temp.traces(), '2026-03-11 ROLLED_BACK -->- 1 recs {DAY_MISMATCH}', 'a flight of another day');
select is(pg_temp.alerts(), 'SAME_FLID_ACROSS_OPERATION_DAYS', 'told');
select is(pg_temp.send('SCHD_DNLD', array[pg_temp.f(77)], '{"seqn": "301a"}') || ' ' || pg_temp.traces(), 'DEAD(PROTOCOL) no day ROLLED_BACK -->- 1 recs {}', 'no day is known: a row without');
select is(pg_temp.send('SCHD_DNLD', '{}', '{"declared": "1", "seqn": "301b"}') || ' ' || pg_temp.traces(), 'DEAD(PROTOCOL) no day ROLLED_BACK -->- 0 recs {EMPTY}', 'no record at all');
select is(pg_temp.send('SCHD_DNLD', '{}', '{"seqn": "301c"}') || ' ' || pg_temp.traces(), 'SUCCEEDED no day COMMITTED -->- 0 recs {EMPTY}', 'an empty DNLD covers nothing and is traced');

-- would delete, deleted
select is(pg_temp.sent('{"seqn": "302"}', pg_temp.p(3)), 'SUCCEEDED RECS_DROP 2026-03-10 COMMITTED covering 15->16 1 recs {RECS_DROP}', 'retain: two are left out');
select is((select row(t.deleted_count, t.would_delete_count, t.would_delete)::text from ledger.schd_snap_log t order by t.log_id desc limit 1), '(0,2,"{1,2}")', 'retain: would have been deleted');
select pg_temp.policy('ledger');
select is(pg_temp.sent('{"seqn": "303"}', pg_temp.p(4)), 'SUCCEEDED 2026-03-10 COMMITTED covering 16->17 1 recs {}', 'ledger: one is left out');
select is((select row(t.deleted_count, t.would_delete_count, t.would_delete)::text from ledger.schd_snap_log t order by t.log_id desc limit 1), '(1,0,)', 'ledger: deleted');

-- a bug of ours
alter table flight.flight_schd add constraint only_for_this_test check (flid <> 66);
select is(pg_temp.sent('{"seqn": "304"}', pg_temp.p(66)), 'FAILED(INFRA) 2026-03-10 ROLLED_BACK covering 17->17 1 recs {}', 'a try that failed is an attempt too');
alter table flight.flight_schd drop constraint only_for_this_test;
set local msgx.now to '2026-03-10 06:00:05+08';
select pg_temp.step();
select is(pg_temp.traces(), '2026-03-10 ROLLED_BACK covering 17->17 1 recs {}; 2026-03-10 COMMITTED covering 17->18 1 recs {}', 'and so is the next');
select is((select array_agg(distinct t.result order by t.result) from ledger.schd_snap_log t), '{COMMITTED,ROLLED_BACK}'::text[], '(REPLAY_SKIPPED has a file of its own)');

-- no plan, no trace
select is(pg_temp.adft(pg_temp.p(90)) || coalesce(pg_temp.traces(), ''), 'SUCCEEDED', 'an ADFT');
select is(pg_temp.flop(90, 'ESTT', '{"estt": null}') || coalesce(pg_temp.traces(), ''), 'SUCCEEDED', 'a FLOP');
select is(pg_temp.fdel(90) || coalesce(pg_temp.traces(), ''), 'SUCCEEDED', 'an FDEL');
select is((select count(*) from ledger.schd_gen), 1::bigint, 'one day has a generation');
select is((select count(*) from core.alert a where a.code = 'RECS_DROP'), 3::bigint, 'an alert for each drop that was applied');
select is((select a.message_id is not null and a.detail like '%2026-03-10%over 30 \% fewer%' from core.alert a where a.code = 'RECS_DROP' limit 1), true, 'naming plan, day and share');
select * from finish();
rollback;
