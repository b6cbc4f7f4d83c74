-- An alert with a key is raised once and then counted; one without is raised each time.
begin;
\ir ../common.psql
select plan(4);
select core.raise_alert('A', 'one', 7, 'k'), core.raise_alert('A', 'two', 8, 'k'), core.raise_alert('B', 'x'), core.raise_alert('B', 'x');
select is(pg_temp.alerts(), 'A+1 B B', 'by their keys');
select is((select row(a.detail, a.message_id, a.raised_at)::text from core.alert a where a.code = 'A'), '(one,7,"2026-03-10 06:00:00+08")', 'the first stays as it was');
select is((select count(*) from core.alert a where a.acknowledged_at is not null), 0::bigint, 'open');
select is(pg_temp.allowed('select core.raise_alert(''A'', ''x'')'), '', 'nobody calls it but our routines');
select * from finish();
rollback;
