-- Traces are appended after the commit; one that cannot be written costs a count and nothing else (flight-state.md 5.6). A deposed
-- leader writes none.
begin;
\ir ../../flights.psql
select plan(10);

create function pg_temp.trace(p_result text) returns ledger.schd_snap_log[]
language sql as $fn$
  select array[r] from jsonb_populate_record(null::ledger.schd_snap_log, jsonb_build_object(
    'operation_day', '2026-03-10', 'msg_id', 5, 'recv_at', core.now(), 'recs', 3, 'covering', true, 'old_version', 1, 'new_version', 2,
    'deleted_count', 1, 'would_delete_count', 2, 'would_delete', '{7,8}', 'result', p_result, 'flags', '{EMPTY}', 'reason', 'why',
    'old_flid_digest', '\x01', 'new_flid_digest', '\x02', 'archive_key', 'k', 'duration_ms', 1.5)) r
$fn$;
select is(ledger.append_trace(1, pg_temp.trace('COMMITTED')), 0, 'written: nothing lost');
select is((select (jsonb_populate_record(t, '{"log_id": null}'))::text from ledger.schd_snap_log t), (select r::text from unnest(pg_temp.trace('COMMITTED')) r), 'every column');
select is(ledger.append_trace(1, pg_temp.trace('COMMITTED') || pg_temp.trace('REPLAY_SKIPPED') || pg_temp.trace('ROLLED_BACK')), 0, 'the same plan again is no conflict');
select is((select count(*) from ledger.schd_snap_log), 4::bigint, 'a row an attempt');
select is(ledger.append_trace(1, pg_temp.trace('COMMITTED') || pg_temp.trace('NONSENSE')), 2, 'not written: how many were lost');
select is((select count(*) from ledger.schd_snap_log), 4::bigint, 'all or none of a call');
select throws_ok('select ledger.append_trace(0, pg_temp.trace(''COMMITTED''))', 'MX010', 'leader epoch 0 is over', 'a stale epoch is no lost trace');
select is((select count(*) from ledger.schd_snap_log), 4::bigint, 'and writes none');

-- the plan does not depend on it
alter table ledger.schd_snap_log add constraint only_for_this_test check (msg_id < 6) not valid;
select pg_temp.stage('OTHER', '{}', '{"type": "LDM"}') from generate_series(1, 6);
select is(pg_temp.day_plan('2026-03-10', pg_temp.p(1)), 'SUCCEEDED', 'a plan whose trace cannot be written');
select is(concat_ws(' ', pg_temp.life(1), pg_temp.roster('2026-03-10'), pg_temp.traces()), 'ACTIVE v1 of 2026-03-10 {1}', 'stands all the same');
select * from finish();
rollback;
