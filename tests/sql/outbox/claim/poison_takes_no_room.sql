-- Events that back off take no place in the batch, however many they are and however much queues up behind them (pitfall 19).
begin;
\ir ../common.psql
select plan(9);
select pg_temp.msg(i, i % 12 + 1) from generate_series(1, 3600) i;
select pg_temp.msg(3600 + i, 100 + i) from generate_series(1, 5) i;
select is(pg_temp.claim('KAFKA:msg', 10), '1 2 3 4 5 6 7 8 9 10', 'a first batch');
select outbox.fail(1, 'KAFKA:msg', i, 1, 'too large', false) from generate_series(1, 10) i;
select is(pg_temp.claim('KAFKA:msg', 10), '11 12 3601 3602 3603 3604 3605', 'the good ones go out in the second');
select outbox.fail(1, 'KAFKA:msg', i, 1, 'too large', false) from generate_series(11, 12) i;
select pg_temp.settle('KAFKA:msg', 3601, 3602, 3603, 3604, 3605);
select is(pg_temp.claim('KAFKA:msg', 10), null, 'then there is nothing due');
select pg_temp.msg(4000, 200);
select is(pg_temp.claim('KAFKA:msg', 10), '4000', 'but what comes new');
select pg_temp.at('1 h');
select outbox.fail(1, 'KAFKA:msg', i, 1, 'too large', true) from generate_series(1, 12) i;
select is(pg_temp.claim('KAFKA:msg', 12), '13 14 15 16 17 18 19 20 21 22 23 24', 'after their end the flights go on, in order');
select pg_temp.settle('KAFKA:msg', variadic array(select generate_series(13, 24)));
select is((select string_agg(c.event_id::text, ' ') from outbox.claim(1, 'KAFKA:msg', 12) c), '25 26 27 28 29 30 31 32 33 34 35 36', 'and so on');
select is((select count(*) from outbox.dead), 12::bigint, 'the dead ones stay in sight');
select is((select count(*) from core.alert a where a.code = 'EVENT_DEAD'), 12::bigint, 'each was told');
select is((select string_agg(distinct e.last_error, ' ') from outbox.dead e), 'too large', 'with the reason');
select * from finish();
rollback;
