-- TYPE-STYP and TYPE-*, any case; the rule is told as it stands in the setting (implementation.md 2, design 11.15).
begin;
\ir ../../flights.psql
select plan(17);

select is(pipeline.ignore_rule('LDM', 'X', '{LDM-*}'), 'LDM-*', 'a type');
select is(pipeline.ignore_rule('ldm', 'x', '{LDM-*}'), 'LDM-*', 'in lower case');
select is(pipeline.ignore_rule('LDM', 'X', '{lDm-*}'), 'lDm-*', 'the rule as it stands');
select is(pipeline.ignore_rule('FLOP', 'Estt', '{flop-eSTT}'), 'flop-eSTT', 'a subtype');
select is(pipeline.ignore_rule('FLOP', 'ESTX', '{FLOP-ESTT}'), null, 'another subtype');
select is(pipeline.ignore_rule('LDMX', 'X', '{LDM-*}'), null, 'another type that begins so');
select is(pipeline.ignore_rule('LDM-X', 'Y', '{LDM-*}'), null, 'a hyphen in the type');
select is(pipeline.ignore_rule('FLOP', 'ESTT', '{FLOP-ESTT,FLOP-*}'), 'FLOP-ESTT', 'the first that fits');
select is(pipeline.ignore_rule('FLOP', 'ESTT', '{FLOP-*,FLOP-ESTT}'), 'FLOP-*', 'in their order');
select is(pipeline.ignore_rule('FLOP', '*', '{}'), null, 'no rule');
select is(pipeline.ignore_rule('ERROR', 'X', (select s.pipeline_ignore from core.setting s)), null, 'ERROR is not EROR');
select is((select s.pipeline_ignore from core.setting s), '{LDM-*,REGN-*,RSTA-*,EROR-*}'::text[], 'the base line');

select is(pg_temp.send('OTHER', '{}', '{"type": "Ldm", "styp": "x"}') || ' ' || pg_temp.note(), 'SKIPPED ignored:LDM-*', 'through the pump');
select is((select m.identity_key from inbox.proc_state m), 'AODB|Ldm|x|1', 'an ignored message binds its identity');
select is((select row(m.error_class, m.backfill_next_at = core.now(), m.finished_at = core.now())::text from inbox.proc_state m), '(,t,t)', 'has no error class, and a mark is owed');
update core.setting set pipeline_ignore = '{flop-estt}';
select pg_temp.adft(pg_temp.f(1));
select is(pg_temp.flop(1, 'ESTT', '{"estt": "2026-03-10T11:00:00+08:00"}') || pg_temp.note() || pg_temp.life(1), 'SKIPPEDignored:flop-esttACTIVE v1 of no day', 'a flight message can be ignored too');
select is((select count(*) from inbox.stage_message) + (select count(*) from inbox.stage_record), 0::bigint, 'nothing is left in staging');
select * from finish();
rollback;
