-- A replayed message starts anew but keeps its identity (implementation.md 9.1).
begin;
\ir ../common.psql
select plan(13);
update inbox.inbox_cursor set watermark = 10;
update inbox.queue_head set finished_through = 9;
select pg_temp.message(3, 'DEAD', 'EXHAUSTED', '{"identity_key": "A|B|C|3", "digest": "\\x01", "sndr": "A", "type": "B", "last_error": "x", "error_sqlstate": "40P01",
  "attempts": 6, "flids": [7], "backfill_attempts": 3, "backfill_error": "e", "backfill_next_at": null, "backfill_abandoned_at": "2026-03-10T05:00:00+08:00",
  "backfill_abandoned_reason": "MISSING_ROW", "backfill_acknowledged_at": "2026-03-10T05:00:00+08:00", "backfill_acknowledged_by": "x", "backfill_acknowledged_note": "n"}');
select pg_temp.message(4, 'FAILED', 'INFRA', '{"next_attempt_at": "2026-03-10T07:00:00+08:00"}');
select pg_temp.message(5, 'DEAD', 'INFRA', '{"backfill_at": "2026-03-10T05:00:00+08:00", "backfill_outcome": "WRITTEN", "backfill_next_at": null}');
select pg_temp.message(6, 'SUCCEEDED');
select pg_temp.staged(4, 1), pg_temp.staged(6, 2);
select results_eq('select msg_id, state, error_class from inbox.replay(array[5, 4, 3], p_dry_run => false)',
  $$values (3::bigint, 'DEAD', 'EXHAUSTED'), (4, 'FAILED', 'INFRA'), (5, 'DEAD', 'INFRA')$$, 'told as they were, in order');
select is((select row(m.state, m.error_class, m.last_error, m.error_sqlstate, m.attempts, m.next_attempt_at, m.finished_at, m.replays)::text from inbox.proc_state m where m.msg_id = 3),
  '(PENDING,,,,0,,,1)', 'tries, wait and error go');
select is((select row(m.identity_key, m.digest, m.sndr, m.type)::text from inbox.proc_state m where m.msg_id = 3), '(A|B|C|3,"\\x01",A,B)', 'the identity stays');
select is((select row(m.backfill_next_at, m.backfill_at, m.backfill_attempts, m.backfill_error, m.backfill_abandoned_at, m.backfill_abandoned_reason,
  m.backfill_acknowledged_at, m.backfill_acknowledged_by, m.backfill_acknowledged_note)::text from inbox.proc_state m where m.msg_id = 3), '(,,0,,,,,,)', 'the intent goes, whatever became of it');
select is(pg_temp.mark(5), 'marked WRITTEN|0', 'a mark that was confirmed stays confirmed');
select is((select m.next_attempt_at from inbox.proc_state m where m.msg_id = 4), null, 'a FAILED one is due at once');
select results_eq('select msg_id from inbox.stage_message', array[6]::bigint[], 'it is decoded anew');
select results_eq('select msg_id from inbox.stage_record', array[6]::bigint[], 'with its records');
select is((select q.finished_through from inbox.queue_head q), 2::bigint, 'the pump looks for it');
select results_eq('select msg_id from inbox.unstaged(10)', array[3, 4, 5]::bigint[], 'intake fetches it');
select is((select count(*) from inbox.backfill_todo t where t.msg_id in (3, 4, 5)), 0::bigint, 'no mark is owed until it ends');
select inbox.finish_message(3, 'DEAD', 'EXHAUSTED', 'y', core.now());
select is((select count(*) from inbox.replay(array[3], p_dry_run => false)), 1::bigint, 'again');
select is((select m.replays from inbox.proc_state m where m.msg_id = 3), 2, 'counted');
select * from finish();
rollback;
