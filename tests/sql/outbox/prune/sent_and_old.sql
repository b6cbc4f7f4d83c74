-- Only what was SENT, and longer ago than its retention, goes, a few at a time (implementation.md 8.3).
begin;
\ir ../common.psql
select plan(8);
select pg_temp.msg(i, i, '{"state": "SENT", "sent_at": "2026-03-07T05:59:59+08:00"}') from generate_series(1, 5) i;
select pg_temp.msg(6, 6, '{"state": "SENT", "sent_at": "2026-03-07T06:00:00+08:00"}'), pg_temp.msg(7, 7, '{"created_at": "2026-01-01T00:00:00+08:00"}'),
  pg_temp.msg(8, 8, '{"state": "DEAD", "created_at": "2026-01-01T00:00:00+08:00"}');
select pg_temp.schd(11, 1, '{"state": "SENT", "sent_at": "2026-03-07T05:59:59+08:00"}'), pg_temp.schd(12, 2, '{"state": "DEAD"}'), pg_temp.schd(13, 3, '{"state": "SENT", "sent_at": "2026-03-10T00:00:00+08:00"}');
select is(outbox.prune(1, 3), 4, 'three of one target, one of the other');
select is(outbox.prune(1, 3), 2, 'the rest');
select is(outbox.prune(1, 3), 0, 'no more');
select results_eq('select event_id from outbox.msg_event order by 1', array[6, 7, 8, 12, 13]::bigint[], 'what is younger, waits, or is dead stays');
update core.setting set pipeline_event_retention = '1 s';
select pg_temp.at('1.001 s');
select is(outbox.prune(1, 100), 2, 'the retention is a setting');
select results_eq('select event_id from outbox.msg_event order by 1', array[7, 8, 12]::bigint[], 'never what is not SENT');
select throws_ok('select outbox.prune(0, 1)', 'MX010', null, 'only the leader');
select is(pg_temp.allowed('select outbox.prune(1, 1)'), 'app', 'only the supervisor');
select * from finish();
rollback;
