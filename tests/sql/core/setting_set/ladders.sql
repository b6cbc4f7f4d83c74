-- A ladder brings its attempts with it, so that no step is without its try and no try without its step (implementation.md 9.1).
begin;
\ir ../common.psql
select plan(12);
select results_eq($$select * from core.setting_set('msgx.pipeline.ladder-infra', '1s 5s 30s')$$,
  $$values ('msgx.pipeline.ladder-infra', '1s 5s 30s 2m 10m', '1s 5s 30s'), ('msgx.pipeline.attempts-infra', '6', '4')$$, 'blanks between the steps');
select results_eq($$select new from core.setting_set('pipeline_event_ladder', '1s, 2m')$$, array['1s 2m', '3'], 'commas');
select results_eq($$select new from core.setting_set('msgx.pipeline.ladder-unsupported', '{1 s,2 min,3 h}')$$, array['1s 2m 3h'], 'an array; the attempts stay');
select results_eq($$select new from core.setting_set('msgx.pipeline.ladder-codec-error', '')$$, array['', '1'], 'no step: one try');
select results_eq($$select new from core.setting_set('msgx.pipeline.backfill-ladder', '1s 1m')$$, array['1s 1m'], 'marks have no attempts that decide');
select throws_ok($$select core.setting_set('msgx.pipeline.backfill-ladder', '')$$, '22023', null, 'but at least one step');
select throws_ok($$select core.setting_set('msgx.pipeline.ladder-infra', '1s 0s')$$, '22023', null, 'a step is longer than nothing');
select throws_ok($$select core.setting_set('msgx.pipeline.ladder-infra', '1s soon')$$, '22023', null, 'a step is a duration');
select throws_ok($$select core.setting_set('msgx.pipeline.ladder-infra', '{{1 s,2 s},{3 s,4 s}}')$$, '22023', null, 'a ladder is a list');
select lives_ok($$select core.setting_set('msgx.pipeline.attempts-infra', '4')$$, 'attempts as they are');
select throws_ok($$select core.setting_set('msgx.pipeline.attempts-infra', '5')$$, '22023',
  'msgx.pipeline.attempts-infra cannot be ''5'': the attempts follow from the ladder; set msgx.pipeline.ladder-infra instead', 'attempts alone');
select throws_ok($$select core.setting_set('msgx.pipeline.event-attempts', '5')$$, '22023',
  'msgx.pipeline.event-attempts cannot be ''5'': the attempts follow from the ladder; set msgx.pipeline.event-ladder instead', 'of events too');
select * from finish();
rollback;
