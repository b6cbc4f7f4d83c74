-- Every setting is listed with its key, its value, its default and what it is for; and its value can be set as it is shown.
begin;
\ir ../common.psql
select plan(9);
select is((select count(*) from core.setting_view),
  (select count(*) from pg_attribute where attrelid = 'core.setting'::regclass and attnum > 0 and not attisdropped and attname <> 'only_row'),
  'every column, once');
select is((select string_agg(v.key, ' ') from core.setting_view v where v.key !~ '^msgx(\.[a-z]+(-[a-z]+)*){1,2}$' or v.description !~ '^\S.{10,}'), null,
  'a key and a description each');
select is((select count(distinct v.key) from core.setting_view v), (select count(*) from core.setting_view), 'no key twice');
select is((select string_agg(v.key, ' ') from core.setting_view v where v.value is distinct from v.default_value), null, 'a new installation has the defaults');
select is((select v.value from core.setting_view v where v.key = 'msgx.pipeline.ladder-unsupported'), '1s 5s 30s', 'a ladder, short');
select is((select string_agg(c.key, ' ') from core.setting_view v cross join lateral core.setting_set(v.key, v.value) c where c.old is distinct from c.new), null,
  'setting each to what it is changes nothing');
select is((select count(*) from core.setting_log), 0::bigint, 'and logs nothing');
select core.setting_set('msgx.pipeline.claim-batch', '50');
select is((select row(v.value, v.default_value)::text from core.setting_view v where v.column_name = 'pipeline_claim_batch'), '(50,200)', 'the default stays in sight');
select is(pg_temp.allowed('select * from core.setting_view'), 'app operator reader', 'everybody reads it');
select * from finish();
rollback;
