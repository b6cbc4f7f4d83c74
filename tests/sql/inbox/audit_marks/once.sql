-- Rows that were marked and bear no mark are told once; it decides nothing.
begin;
\ir ../common.psql
select plan(9);
update inbox.inbox_cursor set watermark = 5;
select pg_temp.message(i, 'SUCCEEDED', null, jsonb_build_object('backfill_at', core.now(), 'backfill_next_at', null)) from generate_series(1, 4) i;
select pg_temp.message(5, 'SUCCEEDED');
select is(inbox.audit_marks(1, '{}'), 0, 'all is well');
select is(inbox.audit_marks(1, '{5, 77}'), 0, 'a mark that is owed, and an id that was never taken in, are other affairs');
select is(inbox.audit_marks(1, '{3, 4, 5}'), 2, 'two rows without the mark that we wrote');
select is(pg_temp.alerts(), 'MAILBOX_ID_REUSE', 'are told');
select is(inbox.audit_marks(1, '{4}'), 1, 'the greatest of them stands for all');
select is(pg_temp.alerts(), 'MAILBOX_ID_REUSE+1', 'told once');
select is((select row(a.message_id, a.detail like '%rows 3, 4 of the mailbox%watermark 5%')::text from core.alert a), '(3,t)', 'with their ids');
select throws_ok('select inbox.audit_marks(0, ''{3}'')', 'MX010', null, 'only the leader');
select is(pg_temp.allowed('select inbox.audit_marks(1, ''{3}'')'), 'app', 'only the supervisor');
select * from finish();
rollback;
