-- The mailbox's promise is checked: its ids do not end below the watermark, and none is new below it (design section 4).
begin;
\ir ../common.psql
select plan(13);
select pg_temp.advance(1, 2, 3, 5);
select pg_temp.at('30 s');
select pg_temp.advance(5), pg_temp.advance(5);
select is(inbox.audit_mailbox(1, 1, 5, array[1, 2, 3, 5]), 0, 'all is well');
select is(inbox.audit_mailbox(1, null, null, '{}'), 0, 'an empty mailbox is no fault: its owner clears what is marked');
select is(inbox.audit_mailbox(1, 4, 5, '{4}'), 1, 'a row in a hole that was passed over');
select is(pg_temp.alerts(), 'MAILBOX_ID_REUSE', 'is told');
select is(inbox.audit_mailbox(1, 4, 9, '{4, 6, 7, 9}'), 1, 'ids beyond the watermark are intake''s affair');
select is(pg_temp.alerts(), 'MAILBOX_ID_REUSE+1', 'told once');
select is(inbox.audit_mailbox(1, 1, 4, '{}'), 1, 'ids that end below the watermark');
select is(inbox.audit_mailbox(1, 1, 4, '{}'), 1, 'again');
select is(pg_temp.alerts(), 'MAILBOX_ID_REUSE+1 MAILBOX_ID_REUSE+1', 'told once');
select is((select c.watermark from inbox.inbox_cursor c), 5::bigint, 'it decides nothing');
update inbox.inbox_cursor set watermark = 1000, seeded_to = 1000, seeded_at = core.now();
select is(inbox.audit_mailbox(1, 1, 1000, '{7, 8, 1000}'), 0, 'what seeding left out is no fault');
select throws_ok('select inbox.audit_mailbox(0, 1, 1, null)', 'MX010', null, 'only the leader');
select is(pg_temp.allowed('select inbox.audit_mailbox(1, 1, 1, null)'), 'app', 'only the supervisor');
select * from finish();
rollback;
