-- What an operator reads: open alerts first, the newest on top.
begin;
\ir ../common.psql
select plan(3);
select core.raise_alert('OLD', 'd', 7), core.raise_alert('DONE', 'd');
select core.alert_acknowledge(array[(select a.alert_id from core.alert a where a.code = 'DONE')]);
select pg_temp.at('1 min');
select core.raise_alert('NEW', 'd', null, 'k'), core.raise_alert('NEW', 'd', null, 'k');
select results_eq($$select code, open, repeats, message_id from core.alert_view$$,
  $$values ('NEW', true, 1, null::bigint), ('OLD', true, 0, 7), ('DONE', false, 0, null)$$, 'open first, newest first');
select is((select count(*) from core.alert), 3::bigint, 'a repeat is counted on its alert');
select is(pg_temp.allowed('select * from core.alert_view'), 'app operator reader', 'everybody reads it');
select * from finish();
rollback;
