-- The newest messages whose mark was confirmed, up to the watermark.
begin;
\ir ../common.psql
select plan(5);
update inbox.inbox_cursor set watermark = 2000;
select pg_temp.message(i, 'SUCCEEDED', null, jsonb_build_object('backfill_at', core.now(), 'backfill_next_at', null)) from generate_series(1, 5) i;
select pg_temp.message(6, 'SUCCEEDED'), pg_temp.message(7, 'PENDING');
select pg_temp.message(2001, 'SUCCEEDED', null, jsonb_build_object('backfill_at', core.now(), 'backfill_next_at', null));
select is(array(select m.msg_id from inbox.marked(3) m), array[5, 4, 3]::bigint[], 'the newest');
select is(array(select m.msg_id from inbox.marked(100) m), array[5, 4, 3, 2, 1]::bigint[], 'neither what is owed its mark nor what lies beyond the watermark');
update inbox.proc_state set state = 'PENDING', finished_at = null where msg_id = 5;
select is((select max(m.msg_id) from inbox.marked(100) m), 5::bigint, 'a replayed message keeps its mark');
select pg_temp.message(i, 'SUCCEEDED') from generate_series(10, 1009) i;
select is(array(select m.msg_id from inbox.marked(100) m), '{}'::bigint[], 'and only among the last thousand');
select is(pg_temp.allowed('select inbox.marked(1)'), 'app', 'only the supervisor');
select * from finish();
rollback;
