-- A person has marks tried again that were given up.
begin;
\ir ../common.psql
select plan(8);
select pg_temp.message(i, 'DEAD', 'INFRA', '{"backfill_attempts": 5, "backfill_next_at": null, "backfill_abandoned_at": "2026-03-10T05:00:00+08:00", "backfill_abandoned_reason": "TRANSIENT_DEADLINE"}')
from generate_series(1, 3) i;
select pg_temp.message(4, 'SUCCEEDED');
select inbox.backfill_acknowledge(array[2], 'seen');
select is(inbox.backfill_reopen(array[1, 2]), 2, 'two');
select is(pg_temp.mark(1), 'owed|0|next 06:00:00', 'owed and due, with all tries');
select is((select row(m.backfill_acknowledged_at, m.backfill_acknowledged_by, m.backfill_acknowledged_note)::text from inbox.proc_state m where m.msg_id = 2), '(,,)', 'a note on it is over');
select results_eq('select msg_id from inbox.backfill_claim(1, null) order by 1', array[1, 2, 4]::bigint[], 'claimed');
select throws_ok('select inbox.backfill_reopen(array[3, 4])', 'MX013', 'the mark of 4 was not given up', 'one that was not given up');
select throws_ok('select inbox.backfill_reopen(array[3, 9])', 'MX012', 'there is no message 9', 'one that is none');
select is(pg_temp.mark(3), 'given up: TRANSIENT_DEADLINE|5', 'all or none');
select is(pg_temp.allowed('select inbox.backfill_reopen(array[3])'), 'operator', 'only operators');
select * from finish();
rollback;
