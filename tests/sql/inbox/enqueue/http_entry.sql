-- The HTTP entry registers a row without moving the watermark, and nothing it accepted is lost (implementation.md 4.4).
begin;
\ir ../common.psql
select plan(13);
update inbox.inbox_cursor set watermark = 10;
update inbox.queue_head set finished_through = 10;
select pg_temp.message(9, 'SUCCEEDED');
select is(inbox.enqueue(12, '2020-01-01 00:00+00'), true, 'beyond the watermark');
select is((select row(m.state, m.received_at, m.enqueued_at)::text from inbox.proc_state m where m.msg_id = 12),
  '(PENDING,"2020-01-01 08:00:00+08","2026-03-10 06:00:00+08")', 'is registered');
select is((select row(c.watermark, c.read_at)::text from inbox.inbox_cursor c), '(10,)', 'without the watermark');
select is(inbox.enqueue(12), true, 'twice is once');
select is(inbox.enqueue(9), false, 'one that intake was quicker with');
select is((select m.state from inbox.proc_state m where m.msg_id = 9), 'SUCCEEDED', 'stays as it is');
select is(pg_temp.alerts(), null, 'all in order so far');
select is(inbox.enqueue(7), false, 'an id that the watermark had passed');
select is((select m.state from inbox.proc_state m where m.msg_id = 7), 'PENDING', 'is taken in all the same');
select is((select q.finished_through from inbox.queue_head q), 6::bigint, 'where the pump finds it');
select is(pg_temp.alerts(), 'MAILBOX_ID_REUSE', 'and told');
select throws_ok('select inbox.enqueue(0)', '22023', null, 'no id');
select is(pg_temp.allowed('select inbox.enqueue(20)'), 'app operator', 'the supervisor, and an operator for what the audit found');
select * from finish();
rollback;
