-- A preset sets the eight switches at once; single switches make it custom (design section 7).
begin;
\ir ../common.psql
select plan(9);
select results_eq($$select key, old, new from core.setting_set('policy', 'ledger')$$,
  $$values ('msgx.policy', 'retain', 'ledger'),
    ('msgx.policy.absent-field', 'KEEP', 'CLEAR'), ('msgx.policy.absent-flight', 'KEEP', 'DELETE'),
    ('msgx.policy.allocation-flop', 'REFUSE', 'REPLACE'), ('msgx.policy.code-share', 'LINKED', 'INDEPENDENT'),
    ('msgx.policy.deletion', 'MARK', 'REMOVE'), ('msgx.policy.tombstone', 'NULL', 'JSON'),
    ('msgx.policy.unasked-resp', 'SKIP', 'APPLY'), ('msgx.policy.unknown-flop', 'IGNORE', 'CREATE')$$, 'ledger: all eight');
select is((select count(*) from core.setting_log), 9::bigint, 'each is logged');
select results_eq($$select key, old, new from core.setting_set('msgx.policy.tombstone', 'null')$$,
  $$values ('msgx.policy.tombstone', 'JSON', 'NULL'), ('msgx.policy', 'ledger', 'custom')$$, 'one switch, any case, makes it custom');
select is((select count(*) from core.setting_set('msgx.policy', 'RETAIN')), 8::bigint, 'retain, by its key: the seven other switches');
select is((select s.policy from core.setting s), 'retain', 'is retain again');
select results_eq($$select * from core.setting_set('policy', 'retain')$$, $$values ('msgx.policy', 'retain', 'retain')$$, 'no change is told as such');
select throws_ok($$select core.setting_set('policy', 'custom')$$, '22023', null, 'custom is no preset');
select throws_ok($$select core.setting_set('msgx.policy.deletion', 'PURGE')$$, '22023', null, 'a switch has two positions');
select is(pg_temp.allowed($$select core.setting_set('policy', 'ledger')$$), 'operator', 'only operators');
select * from finish();
rollback;
