-- Only a dead event passes.
begin;
\ir ../common.psql
select plan(5);
select pg_temp.msg(1, 7, '{"state": "DEAD"}'), pg_temp.msg(2, 7);
select is((outbox.lock_dead(1)).flid, 7::bigint, 'a dead one, as it is');
select throws_ok('select outbox.lock_dead(2)', 'MX013', null, 'another');
select throws_ok('select outbox.lock_dead(3)', 'MX012', null, 'none');
select throws_ok('select outbox.lock_dead(null)', 'MX012', null, 'no id');
select is(pg_temp.allowed('select outbox.lock_dead(1)'), '', 'nobody calls it but our routines');
select * from finish();
rollback;
