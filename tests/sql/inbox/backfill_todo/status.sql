-- Every mark that is owed or was given up, with where it stands.
begin;
\ir ../common.psql
select plan(3);
select pg_temp.message(1, 'SUCCEEDED'), pg_temp.message(2, 'SKIPPED', null, '{"backfill_next_at": "2026-03-10T07:00:00+08:00"}'),
  pg_temp.message(3, 'DEAD', 'INFRA', '{"enqueued_at": "2026-03-09T23:00:00+08:00", "backfill_next_at": "2026-03-10T07:00:00+08:00"}'),
  pg_temp.message(4, 'SUCCEEDED', null, '{"backfill_claim_epoch": 1}'), pg_temp.message(5, 'SUCCEEDED', null, '{"backfill_claim_epoch": 0}'),
  pg_temp.message(6, 'SUCCEEDED', null, '{"backfill_abandoned_at": "2026-03-10T05:00:00+08:00", "backfill_abandoned_reason": "MISSING_ROW"}'),
  pg_temp.message(7, 'SUCCEEDED', null, '{"backfill_at": "2026-03-10T05:00:00+08:00"}'), pg_temp.message(8, 'PENDING');
select results_eq('select msg_id, marker, status from inbox.backfill_todo order by 1',
  $$values (1::bigint, 'OK', 'DUE'), (2, 'SKIP', 'WAITING'), (3, 'DEAD', 'OVERDUE'), (4, 'OK', 'IN_HAND'), (5, 'OK', 'DUE'), (6, 'OK', 'ABANDONED')$$, 'not what is confirmed or unfinished');
select is((select t.deadline from inbox.backfill_todo t where t.msg_id = 1), '2026-03-10 12:00:00+08'::timestamptz, 'until when passing faults are waited out');
select is(pg_temp.allowed('select * from inbox.backfill_todo'), 'app operator reader', 'everybody reads it');
select * from finish();
rollback;
