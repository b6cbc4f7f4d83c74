-- The defaults do not depend on what is set.
begin;
\ir ../common.psql
select plan(3);
select core.setting_set('policy', 'ledger'), core.setting_set('msgx.airport.timezone', 'Asia/Tokyo');
select is((core.setting_default()).policy, 'retain', 'a generated column too');
select is((core.setting_default()).airport_timezone, 'Asia/Shanghai', 'a plain one');
select is((core.setting_default()).pipeline_ladder_unsupported, array['1 s', '5 s', '30 s']::interval[], 'an array');
select * from finish();
rollback;
