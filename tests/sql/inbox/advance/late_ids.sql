-- An id at or below the watermark that was never entered is told, not taken in and not lost in silence (design section 4).
begin;
\ir ../common.psql
select plan(7);
select pg_temp.advance(1, 3);
select pg_temp.at('30 s');
select pg_temp.advance(3), pg_temp.advance(3);
select is(pg_temp.advance(2, 3, 4), '4|4', 'a row that was committed too late');
select is(pg_temp.alerts(), 'MAILBOX_ID_REUSE', 'is told');
select matches((select a.detail from core.alert a), 'Of these, 2 came into a hole after it was passed over', 'and why');
select is((select a.message_id from core.alert a), 2::bigint, 'with its id');
select is((select count(*) from inbox.proc_state m where m.msg_id = 2), 0::bigint, 'not taken in');
select pg_temp.advance(2, 3, 4);
select is(pg_temp.alerts(), 'MAILBOX_ID_REUSE+1', 'once');
update inbox.inbox_cursor set seeded_to = 2, seeded_at = core.now();
select pg_temp.advance(2);
select is(pg_temp.alerts(), 'MAILBOX_ID_REUSE+1', 'what seeding left out is no reuse');
select * from finish();
rollback;
