-- An operator takes note of alerts, all or none.
begin;
\ir ../common.psql
select plan(9);
select core.raise_alert('A', 'one'), core.raise_alert('B', 'two'), core.raise_alert('C', 'three');
create function pg_temp.id(p_code text) returns bigint language sql as $fn$ select a.alert_id from core.alert a where a.code = p_code $fn$;
select is(core.alert_acknowledge(array[pg_temp.id('A'), pg_temp.id('B')]), 2, 'two were open');
select is((select row(a.acknowledged_at, a.acknowledged_by)::text from core.alert a where a.code = 'A'),
  format('("2026-03-10 06:00:00+08",%s)', session_user), 'when, and who');
select is((select a.acknowledged_at from core.alert a where a.code = 'C'), null, 'the third is open');
select pg_temp.at('1 h');
select is(core.alert_acknowledge(array[pg_temp.id('A'), pg_temp.id('C')]), 1, 'one was open still');
select is((select a.acknowledged_at from core.alert a where a.code = 'A'), '2026-03-10 06:00:00+08'::timestamptz, 'the first note stays');
select throws_ok(format('select core.alert_acknowledge(array[%s, -1])', pg_temp.id('A')), 'MX012', 'there is no alert -1', 'an id that is none');
select is(core.alert_acknowledge('{}'), 0, 'nothing to take note of');
select is(pg_temp.allowed('select core.alert_acknowledge(''{}'')'), 'operator', 'only operators');
select set_eq($$select code, open from core.alert_view$$, $$values ('A', false), ('B', false), ('C', false)$$, 'none is open any more');
select * from finish();
rollback;
