-- One leader at a time, judged by the database's clock; whoever takes over begins a new epoch (design section 9).
begin;
\ir ../common.psql
select plan(13);
update core.pipeline_lock set epoch = 0, holder = null, acquired_at = null, renewed_at = null, expires_at = null where name = 'LEADER';

select is(row(l.*)::text, '(1,a,"2026-03-10 06:00:10+08",t)', 'a free lease is given') from core.lease_acquire('a', '10 s') l;
select is(row(l.*)::text, '(1,a,"2026-03-10 06:00:10+08",f)', 'a standby is told who leads') from core.lease_acquire('b', '10 s') l;
select pg_temp.at('9.999 s');
select is(row(l.*)::text, '(1,a,"2026-03-10 06:00:10+08",f)', 'until the lease has run out') from core.lease_acquire('b', '10 s') l;
select pg_temp.at('10 s');
select is(row(l.*)::text, '(2,b,"2026-03-10 06:00:20+08",t)', 'then another takes over, in a new epoch') from core.lease_acquire('b', '10 s') l;
select throws_ok($$select core.lease_renew(1, '10 s')$$, 'MX010', null, 'the old epoch cannot be renewed');
select throws_ok($$select core.require_epoch(1)$$, 'MX010', null, 'nor can anybody write under it');
select is(row(l.*)::text, '(3,b,"2026-03-10 06:00:40+08",t)', 'the same holder may ask again: a new epoch, at once') from core.lease_acquire('b', '30 s') l;
select throws_ok($$select core.require_epoch(2)$$, 'MX010', null, 'which ends its own former one');
select is((select row(l.acquired_at, l.renewed_at)::text from core.pipeline_lock l where l.name = 'LEADER'),
  '("2026-03-10 06:00:10+08","2026-03-10 06:00:10+08")', 'when the epoch began is kept');
select is((select l.epoch from core.pipeline_lock l where l.name = 'PIPELINE'), 0::bigint, 'the other row is untouched');
select throws_ok($$select core.lease_acquire('', '10 s')$$, '22023', null, 'a holder has a name');
select throws_ok($$select core.lease_acquire('a', '0 s')$$, '22023', null, 'a lease lasts longer than nothing');
select is(pg_temp.allowed($$select core.lease_acquire('b', '10 s')$$), 'app', 'only the supervisor may lead');
select * from finish();
rollback;
