-- The mark of each terminal state, as it is set.
begin;
\ir ../common.psql
select plan(2);
select results_eq('select inbox.backfill_marker(t, s) from unnest(array[''SUCCEEDED'', ''SKIPPED'', ''DEAD'', ''PENDING'', ''FAILED'', ''ARCHIVED'']) t cross join core.setting s',
  array['OK', 'SKIP', 'DEAD', null, null, null], 'the defaults');
select core.setting_set('msgx.mailbox.marker-succeeded', 'Y');
select is((select inbox.backfill_marker('SUCCEEDED', s) from core.setting s), 'Y', 'another');
select * from finish();
rollback;
