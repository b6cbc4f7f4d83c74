-- An operator ends unfinished messages as SKIPPED, with who and why; they are owed their mark (implementation.md 5.4).
begin;
\ir ../common.psql
select plan(10);
select pg_temp.message(1, 'PENDING'), pg_temp.message(2, 'FAILED', 'INFRA', '{"last_error": "x"}'), pg_temp.message(3, 'SUCCEEDED'), pg_temp.message(4, 'PENDING');
select pg_temp.staged(1, 7);
select is(inbox.skip(array[2, 1, 1], '  before the cut-over '), 2, 'two');
select results_eq('select state, error_class, last_error from inbox.proc_state where msg_id < 3',
  format('values (''SKIPPED'', null::text, ''skipped by %1$s: before the cut-over''), (''SKIPPED'', null, ''skipped by %1$s: before the cut-over'')', session_user), 'ended, with who and why');
select results_eq('select msg_id, marker, status from inbox.backfill_todo where msg_id < 3', $$values (1::bigint, 'SKIP', 'DUE'), (2, 'SKIP', 'DUE')$$, 'their mark is owed');
select is((select count(*) from inbox.stage_message) + (select count(*) from inbox.stage_record), 0::bigint, 'staging is gone');
select throws_ok($$select inbox.skip(array[3, 4], 'x')$$, 'MX013', 'message 3 ended already', 'one that ended');
select throws_ok($$select inbox.skip(array[4, 5], 'x')$$, 'MX012', 'there is no message 5', 'one that is none');
select throws_ok($$select inbox.skip(array[4], ' ')$$, '22023', null, 'no reason');
select is((select m.state from inbox.proc_state m where m.msg_id = 4), 'PENDING', 'all or none');
select is(inbox.skip('{}', 'x'), 0, 'nothing');
select is(pg_temp.allowed($$select inbox.skip(array[4], 'x')$$), 'operator', 'only operators');
select * from finish();
rollback;
