-- The leader keeps its lease; nobody keeps one that is over.
begin;
\ir ../common.psql
select plan(9);
select core.lease_acquire('a', '10 s') from core.lease_release(1);
select is((select l.epoch from core.pipeline_lock l where l.name = 'LEADER'), 3::bigint, 'a leads in epoch 3');
select pg_temp.at('5 s');
select is(core.lease_renew(3, '10 s'), '2026-03-10 06:00:15+08'::timestamptz, 'renewed from now on');
select is(l.acquired, false, 'so a standby waits longer') from core.lease_acquire('b', '10 s') l;
select pg_temp.at('1 min');
select is(core.lease_renew(3, '10 s'), '2026-03-10 06:01:10+08'::timestamptz, 'one that ran out and that nobody took is kept');
select throws_ok($$select core.lease_renew(2, '10 s')$$, 'MX010', null, 'an older epoch');
select throws_ok($$select core.lease_renew(null, '10 s')$$, 'MX010', null, 'no epoch');
select throws_ok($$select core.lease_renew(3, '-1 s')$$, '22023', null, 'no time');
select core.lease_release(3);
select throws_ok($$select core.lease_renew(4, '10 s')$$, 'MX010', null, 'nobody leads after a release, under no epoch');
select is(pg_temp.allowed($$select core.lease_renew(4, '10 s')$$), 'app', 'only the supervisor');
select * from finish();
rollback;
