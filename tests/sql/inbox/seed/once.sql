-- Seeding is an explicit choice for a new installation, once (implementation.md 4.3).
begin;
\ir ../common.psql
select plan(21);
create function pg_temp.fresh() returns void
language sql as $fn$ update inbox.inbox_cursor set watermark = 0, seeded_at = null, seeded_how = null, seeded_to = null, hole_since = null, hole_first_id = null, advanced_at = null $fn$;
create function pg_temp.cursor() returns text
language sql as $fn$ select concat_ws('|', c.watermark, c.seeded_how, c.seeded_to, to_char(c.seeded_at, 'HH24:MI:SS'), c.hole_first_id) from inbox.inbox_cursor c $fn$;

select is(inbox.seed('min', null, 101, 205), 100::bigint, 'min: all that is there is read');
select is(pg_temp.cursor(), '100|min|100|06:00:00', 'with the fact of seeding, in the same row');
select is(pg_temp.advance(101), '101|101', 'the first row is no hole');
select throws_ok($$select inbox.seed('min', null, 101, 205)$$, 'MX011', 'the watermark is 101 already, seeded by min at 2026-03-10 06:00:00+08', 'once');
delete from inbox.proc_state;
select pg_temp.fresh();
select is(inbox.seed('zero', null, 101, 205), 0::bigint, 'zero: by the hole rule');
select throws_ok($$select inbox.seed('max', null, 101, 205)$$, 'MX011', null, 'also where W is 0: it was decided');
select is(pg_temp.advance(101), '-|0|1 since 06:00:00', 'the first row stands behind a hole');
select pg_temp.fresh();
select is(inbox.seed('max', null, 101, 205), 205::bigint, 'max: what is visible is left out');
select pg_temp.fresh();
select is(inbox.seed('id', 150, 101, 205), 150::bigint, 'id: up to it');
select is(pg_temp.cursor(), '150|150|150|06:00:00', 'by which id');
select pg_temp.fresh();
select is(inbox.seed('min', null, null, null), 0::bigint, 'min of an empty mailbox');
select pg_temp.fresh();
select is(inbox.seed('max', null, null, null), 0::bigint, 'max of an empty mailbox');
select pg_temp.fresh();
select is(inbox.seed('id', 5000, null, null), 5000::bigint, 'an id of an empty mailbox');
select pg_temp.fresh();
select throws_ok($$select inbox.seed('id', 206, 101, 205)$$, '22023', null, 'an id that new rows would get');
select throws_ok($$select inbox.seed('id', -1, 101, 205)$$, '22023', null, 'no id');
select throws_ok($$select inbox.seed('id', null, 101, 205)$$, '22023', null, 'id without one');
select throws_ok($$select inbox.seed('newest', null, 101, 205)$$, '22023', null, 'no such way');
select pg_temp.message(7, 'SUCCEEDED');
select throws_ok($$select inbox.seed('zero', null, 101, 205)$$, 'MX011', null, 'not where messages were processed');
delete from inbox.proc_state;
update inbox.inbox_cursor set watermark = 7;
select throws_ok($$select inbox.seed('zero', null, 101, 205)$$, 'MX011', 'the watermark is 7 already', 'not where there is a watermark, seeded or not');
select pg_temp.fresh();
select pg_temp.advance(2);
select is(inbox.seed('min', null, 2, 2) || '|' || pg_temp.cursor(), '1|1|min|1|06:00:00', 'a hole that was waited for is forgotten');
select is(pg_temp.allowed($$select inbox.seed('zero', null, 1, 2)$$), 'operator', 'only operators');
select * from finish();
rollback;
