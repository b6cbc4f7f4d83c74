-- A duty's last run and last success, and how often it failed since.
begin;
\ir ../common.psql
select plan(8);
create function pg_temp.duty(p_duty text) returns text
language sql as $fn$
  select concat_ws('|', d.epoch, to_char(d.last_run_at, 'HH24:MI:SS'), coalesce(to_char(d.last_success_at, 'HH24:MI:SS'), 'never'), d.failures, d.detail)
  from core.duty d where d.duty = p_duty
$fn$;
select core.duty_report(1, 'pump', false, 'first');
select is(pg_temp.duty('pump'), '1|06:00:00|never|1|first', 'a first run that fails');
select pg_temp.at('1 s');
select core.duty_report(1, 'pump', false, 'second');
select is(pg_temp.duty('pump'), '1|06:00:01|never|2|second', 'failures add up');
select pg_temp.at('2 s');
select core.duty_report(1, 'pump', true, null);
select is(pg_temp.duty('pump'), '1|06:00:02|06:00:02|0', 'success ends them');
select pg_temp.at('3 s');
select core.duty_report(1, 'pump', false, repeat('x', 3000));
select is(pg_temp.duty('pump'), '1|06:00:03|06:00:02|1|' || repeat('x', 2000), 'the last success stays; what it says is bounded');
select core.duty_report(1, 'relay', true, 'r');
select is(pg_temp.duty('relay'), '1|06:00:03|06:00:03|0|r', 'each duty for itself');
select throws_ok($$select core.duty_report(0, 'pump', true, null)$$, 'MX010', null, 'only the leader reports');
select is((select count(*) from core.duty), 2::bigint, 'one row a duty');
select is(pg_temp.allowed($$select core.duty_report(1, 'pump', true, null)$$), 'app', 'only the supervisor');
select * from finish();
rollback;
