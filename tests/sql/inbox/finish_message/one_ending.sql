-- A message ends with its reason and the mark it is owed in one statement, and its staging goes (implementation.md 5.2).
begin;
\ir ../common.psql
select plan(9);
select pg_temp.message(1, 'FAILED', 'INFRA', '{"next_attempt_at": "2026-03-10T07:00:00+08:00", "last_error": "x", "error_sqlstate": "40P01", "identity_key": "k"}'),
  pg_temp.message(2, 'PENDING'), pg_temp.message(3, 'PENDING', null, '{"backfill_at": "2026-03-10T05:00:00+08:00", "backfill_outcome": "WRITTEN"}');
select pg_temp.staged(1, 7), pg_temp.staged(2, 8, 9, 8);
select inbox.finish_message(1, 'SUCCEEDED', null, null, core.now());
select is((select row(m.state, m.error_class, m.last_error, m.error_sqlstate, m.next_attempt_at, m.finished_at, m.updated_at, m.backfill_next_at)::text from inbox.proc_state m where m.msg_id = 1),
  '(SUCCEEDED,,,,,"2026-03-10 06:00:00+08","2026-03-10 06:00:00+08","2026-03-10 06:00:00+08")', 'a clean end, a mark owed from now on');
select is((select row(m.attempts, m.identity_key)::text from inbox.proc_state m where m.msg_id = 1), '(1,k)', 'what it went through stays');
select results_eq('select distinct r.msg_id from inbox.stage_record r', array[2]::bigint[], 'its records are gone');
select results_eq('select m.msg_id from inbox.stage_message m', array[2]::bigint[], 'its staging too');
select inbox.finish_message(2, 'DEAD', 'PROTOCOL', 'because', core.now(), 'MX001');
select is((select row(m.state, m.error_class, m.last_error, m.error_sqlstate, m.backfill_next_at is not null)::text from inbox.proc_state m where m.msg_id = 2), '(DEAD,PROTOCOL,because,MX001,t)', 'a bad end, with why');
select set_eq('select unnest(m.flids) from inbox.proc_state m where m.msg_id = 2', array[8, 9]::bigint[], 'and the flights it named, for a replay''s dry run');
select inbox.finish_message(3, 'SUCCEEDED', null, null, core.now());
select is(pg_temp.mark(3), 'marked WRITTEN|0', 'a mark that was confirmed before a replay is not owed again');
select throws_ok($$select inbox.finish_message(1, 'DEAD', null, 'x', core.now())$$, '23514', null, 'DEAD has a class');
select throws_ok($$select inbox.finish_message(1, 'SKIPPED', 'INFRA', 'x', core.now())$$, '23514', null, 'SKIPPED has none');
select * from finish();
rollback;
