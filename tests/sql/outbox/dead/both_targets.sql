-- What was given up, of both targets.
begin;
\ir ../common.psql
select plan(2);
select pg_temp.msg(1, 7, '{"state": "DEAD", "last_error": "x", "attempts": 6}'), pg_temp.msg(2, 7), pg_temp.schd(11, 7, '{"state": "DEAD"}'), pg_temp.schd(12, 8, '{"state": "SENT"}');
select results_eq('select event_id, target, flid, attempts, last_error, payload_bytes from outbox.dead order by 1',
  $$values (1::bigint, 'KAFKA:msg', 7::bigint, 6, 'x', 8), (11, 'KAFKA:schd', 7, 0, null, null)$$, 'those only');
select is(pg_temp.allowed('select * from outbox.dead'), 'app operator reader', 'everybody reads it');
select * from finish();
rollback;
