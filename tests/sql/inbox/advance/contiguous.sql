-- The watermark goes over the contiguous part; what it passes is PENDING; reading twice or in another order changes nothing.
begin;
\ir ../common.psql
select plan(15);
select is(pg_temp.advance(1, 2, 3), '1 2 3|3', 'three rows');
select is((select string_agg(m.state || m.attempts, ' ') from inbox.proc_state m), 'PENDING0 PENDING0 PENDING0', 'are PENDING');
select is((select row(c.advanced_at, c.read_at)::text from inbox.inbox_cursor c), '("2026-03-10 06:00:00+08","2026-03-10 06:00:00+08")', 'when it moved');
select pg_temp.at('1 min');
select is(pg_temp.advance(), '-|3', 'an empty round');
select is((select row(c.advanced_at, c.read_at)::text from inbox.inbox_cursor c), '("2026-03-10 06:00:00+08","2026-03-10 06:01:00+08")', 'still notes that the mailbox was read');
select is(pg_temp.advance(5, 4, 6), '4 5 6|6', 'the order of the rows is that of their ids');
select is((select m.enqueued_at from inbox.proc_state m where m.msg_id = 4), '2026-03-10 06:01:00+08'::timestamptz, 'entered at our time');
select is(pg_temp.advance(4, 5, 6, 7, 7), '7|7', 'rows read before are passed over in silence');
select is(pg_temp.alerts(), null, 'they are no reuse');
select is((select count(*) from inbox.advance(1, array[8, 9]::bigint[], array['2020-01-01 00:00+00', null]::timestamptz[])), 2::bigint, 'with receive times');
select is((select array_agg(m.received_at order by m.msg_id) from inbox.proc_state m where m.msg_id > 7), array['2020-01-01 00:00+00', null]::timestamptz[],
  'which are kept as they are');
select throws_ok('select inbox.advance(0, array[10]::bigint[], null)', 'MX010', null, 'only the leader');
select throws_ok('select inbox.advance(1, array[10]::bigint[], array[null, null]::timestamptz[])', '22023', null, 'receive times of other rows');
select throws_ok('select inbox.advance(1, array[0]::bigint[], null)', '22023', null, 'ids are positive');
select is(pg_temp.allowed('select inbox.advance(1, array[10]::bigint[], null)'), 'app', 'only the supervisor');
select * from finish();
rollback;
