-- A clean stop lets the next supervisor lead at once, and ends the epoch of the one who stopped.
begin;
\ir ../common.psql
select plan(8);
select lives_ok($$select core.require_epoch(1)$$, 'epoch 1 leads');
select core.lease_release(1);
select throws_ok($$select core.require_epoch(1)$$, 'MX010', null, 'a straggler of it writes nothing more');
select throws_ok($$select core.duty_report(1, 'pump', true, null)$$, 'MX010', null, 'not even a report');
select is((select row(l.holder, l.expires_at)::text from core.pipeline_lock l where l.name = 'LEADER'), '(,)', 'nobody leads');
select is(row(l.*)::text, '(3,b,"2026-03-10 06:00:10+08",t)', 'another leads at once') from core.lease_acquire('b', '10 s') l;
select lives_ok($$select core.lease_release(1)$$, 'releasing twice is no fault');
select is((select l.holder from core.pipeline_lock l where l.name = 'LEADER'), 'b', 'and takes nothing from who leads now');
select is(pg_temp.allowed($$select core.lease_release(3)$$), 'app', 'only the supervisor');
select * from finish();
rollback;
