-- What a setting takes, and what it refuses with a sentence: nothing changes then.
begin;
\ir ../common.psql
select plan(29);
select results_eq($$select * from core.setting_set('msgx.pipeline.max-commit-delay', '1m')$$, $$values ('msgx.pipeline.max-commit-delay', '30s', '1m')$$, 'a duration');
select results_eq($$select new from core.setting_set('msgx.pipeline.shadow', 'on')$$, array['true'], 'a switch');
select results_eq($$select new from core.setting_set('msgx.airport.day-cutover', '04:00')$$, array['04:00'], 'a time');
select results_eq($$select new from core.setting_set('msgx.airport.timezone', 'asia/tokyo')$$, array['Asia/Tokyo'], 'a zone, as it is spelt');
select throws_ok($$select core.setting_set('msgx.airport.timezone', '+08:00')$$, '22023', null, 'an offset is no zone');
select throws_ok($$select core.setting_set('msgx.airport.timezone', 'Asia/Atlantis')$$, '22023', null, 'a zone that is none');
select is((select s.airport_timezone from core.setting s), 'Asia/Tokyo', 'refused: as it was');
select results_eq($$select new from core.setting_set('msgx.pipeline.ignore', 'LDM-*,flop-ESTT')$$, array['LDM-*, flop-ESTT'], 'ignore rules');
select results_eq($$select new from core.setting_set('msgx.pipeline.ignore', '')$$, array[''], 'none');
select throws_ok($$select core.setting_set('msgx.pipeline.ignore', 'LDM')$$, '22023', 'msgx.pipeline.ignore cannot be ''LDM'': LDM is no rule of the form TYPE-STYP or TYPE-*', 'a rule has two parts');
select throws_ok($$select core.setting_set('msgx.pipeline.ignore', '*-*')$$, '22023', null, 'not everything is ignored');
select results_eq($$select new from core.setting_set('msgx.catalogue.site-scalars', 'TOBT datetime, NOTE text 99')$$, array['TOBT datetime, NOTE text 99'], 'site scalars');
select throws_ok($$select core.setting_set('msgx.catalogue.site-scalars', 'TOBT date')$$, '22023', null, 'of a type that is none');
select throws_ok($$select core.setting_set('msgx.catalogue.site-scalars', 'TOBT datetime 5')$$, '22023', null, 'a date-time has no length');
select throws_ok($$select core.setting_set('msgx.catalogue.site-scalars', 'FLNO text')$$, '22023', null, 'a tag that the catalogue has');
select throws_ok($$select core.setting_set('msgx.catalogue.site-scalars', 'GTDT text')$$, '22023', null, 'a set that the catalogue has');
select throws_ok($$select core.setting_set('msgx.catalogue.site-scalars', 'AAAA text, AAAA text')$$, '22023', null, 'a tag twice');
select throws_ok($$select core.setting_set('msgx.pipeline.claim-batch', '0')$$, '22023', null, 'a CHECK');
select is(pg_temp.hint($$select core.setting_set('msgx.pipeline.claim-batch', '0')$$),
  'msgx.pipeline.claim-batch: mailbox rows read in one round; 200 bodies of 10 kB are 2 MB. It stays 200.', 'the hint says what it is for, and what it stays');
select throws_ok($$select core.setting_set('msgx.pipeline.claim-batch', 'many')$$, '22023', null, 'not a number');
select throws_ok($$select core.setting_set('msgx.pipeline.claim-batch', '99999999999')$$, '22023', null, 'too large a number');
select throws_ok($$select core.setting_set('msgx.pipeline.claim-batch', null)$$, '22023', null, 'nothing');
select throws_ok($$select core.setting_set('msgx.pipeline.mark-deadline', '8d')$$, '22023', null, 'R beyond R_keep');
select throws_ok($$select core.setting_set('msgx.mailbox.marker-dead', '')$$, '22023', null, 'an empty mark');
select throws_ok($$select core.setting_set('msgx.pipeline.shadow', 'perhaps')$$, '22023', null, 'a switch with a third position');
select throws_ok($$select core.setting_set('msgx.nothing', '1')$$, '22023', 'there is no setting msgx.nothing', 'no such setting');
select throws_ok($$select core.setting_set('only_row', 'false')$$, '22023', null, 'no setting');
select throws_ok($$select core.setting_set('pipeline_claim_batch = 7 --', '1')$$, '22023', null, 'no SQL in a key');
select throws_ok($$select core.setting_set('msgx.mailbox.marker-dead', 'x'', pipeline_shadow = true --')$$, '22023', null, 'nor in a value: it is too long a mark');
select * from finish();
rollback;
