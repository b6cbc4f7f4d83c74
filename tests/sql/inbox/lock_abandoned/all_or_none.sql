-- Only messages whose marks were given up pass.
begin;
\ir ../common.psql
select plan(4);
select pg_temp.message(1, 'DEAD', 'INFRA', '{"backfill_next_at": null, "backfill_abandoned_at": "2026-03-10T05:00:00+08:00", "backfill_abandoned_reason": "MISSING_ROW"}'), pg_temp.message(2, 'SUCCEEDED');
select lives_ok('select inbox.lock_abandoned(array[1])', 'given up');
select throws_ok('select inbox.lock_abandoned(array[1, 2, 3])', 'MX012', 'there is no message 3', 'no such message comes first');
select throws_ok('select inbox.lock_abandoned(array[1, 2])', 'MX013', 'the mark of 2 was not given up', 'not given up');
select is(pg_temp.allowed('select inbox.lock_abandoned(array[1])'), '', 'nobody calls it but our routines');
select * from finish();
rollback;
