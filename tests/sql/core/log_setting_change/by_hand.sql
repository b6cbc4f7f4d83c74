-- Every change is logged, also one that somebody makes by hand; what did not change is not.
begin;
\ir ../common.psql
select plan(3);
update core.setting set pipeline_claim_batch = 10, schd_window_hours = 24, pipeline_event_batch = pipeline_event_batch;
select results_eq($$select key, old_value, new_value, changed_at, changed_by from core.setting_log order by log_id$$,
  $$values ('pipeline_claim_batch', '200', '10', core.now(), session_user::text collate "default"), ('schd_window_hours', '48', '24', core.now(), session_user::text collate "default")$$, 'two changes');
update core.setting set pipeline_claim_batch = 10;
select is((select count(*) from core.setting_log), 2::bigint, 'the same value is no change');
select pg_temp.as_role('msgx_operator', $$select core.setting_set('msgx.pipeline.claim-batch', '20')$$);
select core.setting_set('msgx.pipeline.claim-batch', '20');
select is((select row(l.old_value, l.new_value)::text from core.setting_log l order by l.log_id desc limit 1), '(10,20)', 'by the routine too');
select * from finish();
rollback;
