-- The one clock: the database's own, or a test's.
begin;
\ir ../common.psql
select plan(4);
select is(core.now(), '2026-03-10 06:00:00+08'::timestamptz, 'the time that is set');
select set_config('msgx.now', '', true);
select ok(core.now() between clock_timestamp() - interval '1 s' and clock_timestamp(), 'without one, the clock');
select ok(core.now() > transaction_timestamp(), 'which goes on within a transaction');
select is(pg_temp.allowed('select core.now()'), 'app operator reader', 'everybody reads it');
select * from finish();
rollback;
