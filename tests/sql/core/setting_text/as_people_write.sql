-- Values as core.setting_set reads them back.
begin;
\ir ../common.psql
select plan(2);
update core.setting set
  airport_day_cutover = '04:30:15', pipeline_shadow = true, pipeline_ladder_infra = '{}', pipeline_attempts_infra = 1,
  pipeline_ignore = array['A-*', 'B-C'], schd_drop_share = 0.25;
select set_eq(
  $$select t.column_name, t.value from core.setting s cross join lateral core.setting_text(s) t
    where t.column_name in ('airport_day_cutover', 'pipeline_shadow', 'pipeline_ladder_infra', 'pipeline_ignore', 'schd_drop_share', 'pipeline_commit_interval')$$,
  $$values ('airport_day_cutover', '04:30:15'), ('pipeline_shadow', 'true'), ('pipeline_ladder_infra', ''), ('pipeline_ignore', 'A-*, B-C'),
    ('schd_drop_share', '0.25'), ('pipeline_commit_interval', '50ms')$$, 'each type');
select is((select count(*) from core.setting s cross join lateral core.setting_text(s) t where t.column_name = 'only_row'), 0::bigint, 'only_row is no setting');
select * from finish();
rollback;
