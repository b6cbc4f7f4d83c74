-- Staging is cleared for what is unfinished, and those are returned; what ended keeps its ending.
begin;
\ir ../common.psql
select plan(5);
select pg_temp.message(1, 'PENDING'), pg_temp.message(2, 'FAILED', 'INFRA'), pg_temp.message(3, 'SUCCEEDED'), pg_temp.message(4, 'PENDING');
select pg_temp.staged(1, 7, 8), pg_temp.staged(3), pg_temp.staged(4, 9);
select results_eq('select msg_id from inbox.restage(1, array[3, 2, 1, 99])', array[1, 2]::bigint[], 'unfinished ones, in order');
select results_eq('select msg_id from inbox.stage_message order by 1', array[3, 4]::bigint[], 'their messages are gone');
select results_eq('select msg_id from inbox.stage_record order by 1', array[4]::bigint[], 'their records too');
select throws_ok('select inbox.restage(0, array[1])', 'MX010', null, 'only the leader');
select is(pg_temp.allowed('select inbox.restage(1, array[1])'), 'app', 'only the supervisor');
select * from finish();
rollback;
