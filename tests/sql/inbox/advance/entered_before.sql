-- Rows of the HTTP entry stand beyond the watermark until intake reaches them; then they are staged with the rest.
begin;
\ir ../common.psql
select plan(6);
select is(array[inbox.enqueue(2), inbox.enqueue(3), inbox.enqueue(4)], array[true, true, true], 'entered ahead of the watermark');
select pg_temp.message(5, 'SKIPPED');
select pg_temp.staged(4);
select pg_temp.at('1 s');
select is(pg_temp.advance(1, 2, 3, 4, 5), '1 2 3|5', 'reached: to be staged, but for what is staged or ended already');
select is((select m.enqueued_at from inbox.proc_state m where m.msg_id = 2), '2026-03-10 06:00:00+08'::timestamptz, 'entered once');
select is((select count(*) from inbox.proc_state), 5::bigint, 'one row each');
select pg_temp.message(7, 'PENDING');
select is(pg_temp.advance(8), '-|5|6 since 06:00:01', 'a row of ours does not fill a hole of the mailbox''s');
select is(pg_temp.advance(6, 7, 8), '6 7 8|8', 'the mailbox does');
select * from finish();
rollback;
