-- A failed try is counted and the next one scheduled by the ladder of its class; the message keeps the queue (implementation.md 9.1).
begin;
\ir ../common.psql
select plan(9);
select pg_temp.message(1, 'PENDING', null, '{"identity_key": "k"}'), pg_temp.message(2, 'PENDING'), pg_temp.message(3, 'PENDING');
select pg_temp.staged(i, 7) from generate_series(1, 3) i;
create function pg_temp.fail(p_id bigint, p_class text) returns text
language plpgsql as $fn$
begin
  perform inbox.fail_message(p_id, p_class, 'why', s, core.now(), '40P01') from core.setting s;
  return (select concat_ws('|', m.state, m.error_class, m.attempts, m.next_attempt_at - core.now(), m.last_error, m.error_sqlstate) from inbox.proc_state m where m.msg_id = p_id);
end
$fn$;
select is(pg_temp.fail(1, 'INFRA'), 'FAILED|INFRA|1|00:00:01|why|40P01', 'the first step');
select is(pg_temp.fail(1, 'INFRA'), 'FAILED|INFRA|2|00:00:05|why|40P01', 'the second');
select is(pg_temp.fail(1, 'UNSUPPORTED'), 'FAILED|UNSUPPORTED|3|00:00:30|why|40P01', 'another class: its own ladder, the same count');
select is(pg_temp.fail(1, 'UNSUPPORTED'), 'FAILED|UNSUPPORTED|4|00:00:00|why|40P01', 'beyond the ladder: at once, for the pump to end it');
select is((select m.identity_key from inbox.proc_state m where m.msg_id = 1), 'k', 'the identity stays');
select is(pg_temp.fail(2, 'CODEC_ERROR'), 'FAILED|CODEC_ERROR|1|00:00:01|why|40P01', 'a body that cannot be decoded');
select results_eq('select m.msg_id from inbox.stage_message m order by 1', array[1, 3]::bigint[], 'is staged anew for the next try, others are not');
select results_eq('select m.msg_id from inbox.stage_record m order by 1', array[1, 3]::bigint[], 'with its records');
select is((select count(*) from inbox.backfill_todo), 0::bigint, 'no mark is owed yet');
select * from finish();
rollback;
