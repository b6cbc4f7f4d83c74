-- A setting is found by its key or its column; a slip is answered with what looks like it.
begin;
\ir ../common.psql
select plan(8);
select is((core.setting_column('msgx.pipeline.claim-batch')).column_name, 'pipeline_claim_batch', 'by key');
select is((core.setting_column('pipeline_claim_batch')).key, 'msgx.pipeline.claim-batch', 'by column');
select is((core.setting_column(' MSGX.Pipeline.Claim-Batch ')).type, 'integer', 'any case, blanks around it');
select is((core.setting_column('msgx.pipeline.mark-deadline')).column_name, 'pipeline_mark_deadline', 'what follows the key in the comment is no part of it');
select throws_ok($$select core.setting_column('msgx.pipeline.batch')$$, '22023', 'there is no setting msgx.pipeline.batch', 'no such key');
select is(pg_temp.hint($$select core.setting_column('msgx.pipeline.claimbatch')$$), 'core.setting_view (msgx setting list) shows them all.', 'nothing near');
select is(pg_temp.hint($$select core.setting_column('claim_batch_size')$$),
  'Did you mean msgx.pipeline.claim-batch, msgx.pipeline.backfill-batch, msgx.pipeline.event-batch? core.setting_view (msgx setting list) shows them all.',
  'the nearest first');
select throws_ok($$select core.setting_column('only_row')$$, '22023', null, 'only_row is no setting');
select * from finish();
rollback;
