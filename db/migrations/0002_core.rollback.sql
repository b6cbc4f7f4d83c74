set local lock_timeout = '5s';
set local role msgx_owner;
drop table core.migration_digest, core.routine, core.alert, core.duty, core.pipeline_lock, core.setting_log, core.setting cascade;
reset role;
