-- Passing faults are given up by time, R after the message was taken in, never by tries (implementation.md 6.3).
begin;
\ir ../common.psql
select plan(11);
select pg_temp.message(1, 'SUCCEEDED', null, '{"backfill_attempts": 8}'), pg_temp.message(2, 'SUCCEEDED', null, '{"received_at": "1990-01-01T00:00:00+00:00"}');
create function pg_temp.round() returns integer
language sql as $fn$
  select inbox.backfill_settle(1, array_agg(c.msg_id), array_agg('TRANSIENT'::text), array_agg('down'::text)) from inbox.backfill_claim(1, null) c
$fn$;
select is(pg_temp.round(), 2, 'both fail');
select is(pg_temp.mark(1) || ' ' || pg_temp.mark(2), 'owed|9|next 06:10:00|down owed|1|next 06:00:01|down', 'by the ladder');
select is(pg_temp.alerts(), null, 'nothing to tell yet');
select pg_temp.at('10 min');
select pg_temp.round();
select is(pg_temp.mark(1), 'owed|10|next 06:20:00|down', 'ten tries give nothing up');
select is(pg_temp.alerts(), 'BACKFILL_ATTEMPTS', 'they are told');
select pg_temp.at('20 min');
select pg_temp.round();
select is(pg_temp.alerts(), 'BACKFILL_ATTEMPTS+1', 'once a day');
select pg_temp.at('5 h 59 min 59 s');
select pg_temp.round();
select is((select count(*) from inbox.proc_state m where m.backfill_abandoned_at is not null), 0::bigint, 'nothing before R');
select pg_temp.at('6 h');
update inbox.proc_state set backfill_next_at = core.now();
select pg_temp.round();
select results_eq('select msg_id, backfill_abandoned_reason, backfill_at, backfill_next_at, backfill_error from inbox.proc_state order by 1',
  $$values (1::bigint, 'TRANSIENT_DEADLINE', null::timestamptz, null::timestamptz, 'down'), (2, 'TRANSIENT_DEADLINE', null, null, 'down')$$, 'at R: given up, not confirmed');
select is(pg_temp.alerts(), 'BACKFILL_ATTEMPTS+2 TRANSIENT_DEADLINE', 'told, one for the round');
select matches((select a.detail from core.alert a where a.code = 'TRANSIENT_DEADLINE'), '^No mark for 1, 2: .* deadline of 6h', 'which, and what for');
select is(pg_temp.round(), 0, 'nothing is tried any more');
select * from finish();
rollback;
