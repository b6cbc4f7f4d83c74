-- What is claimed, and in what order (implementation.md 6.1).
begin;
\ir ../common.psql
select plan(19);
create function pg_temp.claim(p_limit integer default null) returns text
language sql as $fn$ select string_agg(c.msg_id || c.marker, ' ' order by c.msg_id) from inbox.backfill_claim(1, p_limit) c $fn$;
select pg_temp.message(1, 'SUCCEEDED'), pg_temp.message(2, 'SKIPPED'), pg_temp.message(3, 'DEAD', 'PROTOCOL'), pg_temp.message(4, 'PENDING'), pg_temp.message(5, 'FAILED', 'INFRA'),
  pg_temp.message(6, 'ARCHIVED'), pg_temp.message(7, 'SUCCEEDED', null, '{"backfill_at": "2026-03-10T05:00:00+08:00", "backfill_next_at": null}'),
  pg_temp.message(8, 'DEAD', 'INFRA', '{"backfill_abandoned_at": "2026-03-10T05:00:00+08:00", "backfill_abandoned_reason": "MISSING_ROW", "backfill_next_at": null}'),
  pg_temp.message(9, 'SUCCEEDED', null, '{"backfill_next_at": "2026-03-10T06:00:01+08:00"}'), pg_temp.message(10, 'SUCCEEDED', null, '{"backfill_next_at": null}');
select is(pg_temp.claim(), '1OK 2SKIP 3DEAD 10OK', 'terminal, not confirmed, not given up, due; one without a time is due');
select is(pg_temp.mark(1), 'owed|1|next 06:00:01|epoch 1', 'a try is counted, the next one moved away, and it is in hand');
select is(pg_temp.claim(), null, 'not twice');
select pg_temp.at('1 s');
select is(pg_temp.claim(), '1OK 2SKIP 3DEAD 9OK 10OK', 'a claim that was never settled is due again after its back-off');
select is(pg_temp.mark(1) || ' ' || pg_temp.mark(9), 'owed|2|next 06:00:06|epoch 1 owed|1|next 06:00:02|epoch 1', 'each by its own ladder');

update inbox.proc_state set backfill_attempts = 99, backfill_next_at = core.now() where msg_id in (1, 2);
update inbox.proc_state set backfill_attempts = 1, backfill_next_at = core.now() where msg_id in (3, 9, 10);
select is(pg_temp.claim(2), '3DEAD 9OK', 'those tried least first, then by id');
select is(pg_temp.claim(2), '1OK 10OK', 'so that rows that always fail do not fill the batch');
select is(pg_temp.mark(1), 'owed|100|next 06:10:01|epoch 1', 'the last step of the ladder repeats');
update core.setting set pipeline_backfill_batch = 1;
select pg_temp.at('1 h');
select is(pg_temp.claim(), '3DEAD', 'the batch is a setting');
update core.setting set pipeline_backfill_batch = 500;
select pg_temp.claim();
select is(pg_temp.claim(), null, 'all back off');
update inbox.proc_state set enqueued_at = core.now() - interval '6 h' where msg_id = 2;
select is(pg_temp.claim(), null, 'at R');
select pg_temp.at('1 h 1 s');
update inbox.proc_state set backfill_next_at = core.now() + interval '1 h' where state in ('SUCCEEDED', 'SKIPPED', 'DEAD') and backfill_at is null and backfill_abandoned_at is null;
select is(pg_temp.claim(), '2SKIP', 'beyond R every round, whatever its back-off');
select is(pg_temp.claim(), '2SKIP', 'every round');
update inbox.proc_state set received_at = '1990-01-01 00:00+00';
select is(pg_temp.claim(), '2SKIP', 'the mailbox''s own time says nothing');
select pg_temp.at('3 h');
update core.setting set pipeline_shadow = true;
select is(pg_temp.claim(), null, 'shadow mode claims nothing');
select is((select count(*) from inbox.backfill_todo t where t.status in ('DUE', 'OVERDUE', 'WAITING', 'IN_HAND')), 5::bigint, 'and keeps every intent');
update core.setting set pipeline_shadow = false;
select is(pg_temp.claim(), '1OK 2SKIP 3DEAD 9OK 10OK', 'until it is off');
select throws_ok('select inbox.backfill_claim(0, 1)', 'MX010', null, 'only the leader');
select is(pg_temp.allowed('select inbox.backfill_claim(1, 1)'), 'app', 'only the supervisor');
select * from finish();
rollback;
