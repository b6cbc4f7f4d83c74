-- A person's note on a mark that was given up is the evidence that the mailbox row may be cleared.
begin;
\ir ../common.psql
select plan(9);
select pg_temp.message(i, 'DEAD', 'INFRA', '{"backfill_next_at": null, "backfill_abandoned_at": "2026-03-10T05:00:00+08:00", "backfill_abandoned_reason": "MISSING_ROW"}')
from generate_series(1, 2) i;
select pg_temp.message(3, 'SUCCEEDED');
select is(inbox.backfill_acknowledge(array[1], ' cleared by hand '), 1, 'one');
select is((select row(m.backfill_acknowledged_at, m.backfill_acknowledged_by, m.backfill_acknowledged_note, m.backfill_at)::text from inbox.proc_state m where m.msg_id = 1),
  format('("2026-03-10 06:00:00+08",%s,"cleared by hand",)', session_user), 'when, who, what; still not confirmed');
select pg_temp.at('1 h');
select is(inbox.backfill_acknowledge(array[1, 2], 'again'), 1, 'one was new');
select is((select m.backfill_acknowledged_note from inbox.proc_state m where m.msg_id = 1), 'cleared by hand', 'the first note stays');
select throws_ok($$select inbox.backfill_acknowledge(array[3], 'x')$$, 'MX013', null, 'one that was not given up');
select throws_ok($$select inbox.backfill_acknowledge(array[9], 'x')$$, 'MX012', null, 'one that is none');
select throws_ok($$select inbox.backfill_acknowledge(array[2], '')$$, '22023', null, 'no note');
select is((select string_agg(t.msg_id || t.status, ' ' order by t.msg_id) from inbox.backfill_todo t), '1ACKNOWLEDGED 2ACKNOWLEDGED 3DUE', 'listed as such');
select is(pg_temp.allowed($$select inbox.backfill_acknowledge(array[2], 'x')$$), 'operator', 'only operators');
select * from finish();
rollback;
