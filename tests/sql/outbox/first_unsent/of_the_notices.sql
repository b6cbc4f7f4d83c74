-- Where unsent notices begin.
begin;
\ir ../common.psql
select plan(5);
select is(outbox.first_unsent(0), null, 'no notice at all');
select pg_temp.msg(1, 7, '{"state": "SENT"}'), pg_temp.msg(2, 7, '{"state": "DEAD"}'), pg_temp.msg(3, 7), pg_temp.msg(4, 8), pg_temp.schd(5, 8);
select is(outbox.first_unsent(0), 3::bigint, 'the first that is PENDING');
select is(outbox.first_unsent(3), 4::bigint, 'after an id');
update outbox.msg_event set state = 'SENT' where target = 'KAFKA:msg';
select is(outbox.first_unsent(0), 5::bigint, 'none: after the last notice');
select is(pg_temp.allowed('select outbox.first_unsent(0)'), '', 'nobody calls it but our routines');
select * from finish();
rollback;
