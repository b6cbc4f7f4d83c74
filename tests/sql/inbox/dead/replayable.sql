-- What ended DEAD, and whether another try may help.
begin;
\ir ../common.psql
select plan(2);
select pg_temp.message(1, 'DEAD', 'MALFORMED'), pg_temp.message(5, 'DEAD', 'PROTOCOL'), pg_temp.message(2, 'DEAD', 'EXHAUSTED', '{"last_error": "down"}'), pg_temp.message(3, 'FAILED', 'INFRA'), pg_temp.message(4, 'SUCCEEDED');
select results_eq('select msg_id, error_class, last_error, replayable from inbox.dead order by 1',
  $$values (1::bigint, 'MALFORMED', null::text, false), (2, 'EXHAUSTED', 'down', true), (5, 'PROTOCOL', null, true)$$, 'DEAD only');
select is(pg_temp.allowed('select * from inbox.dead'), 'app operator reader', 'everybody reads it');
select * from finish();
rollback;
