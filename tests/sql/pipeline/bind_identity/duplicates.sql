-- SNDR|TYPE|STYP|SEQN, bound once (implementation.md 2): a duplicate is SKIPPED and names the holder, whatever its body; another body
-- raises IDENTITY_COLLISION. Every ending but MALFORMED binds; retries and replays keep what they bound.
begin;
\ir ../../flights.psql
select plan(31);

create function pg_temp.estt(p_seqn text, p_hour integer, p_meta jsonb default '{}') returns text
language plpgsql as $fn$
declare
  v_ending constant text := pg_temp.send('FLOP', array[pg_temp.f(1, jsonb_build_object('estt', format('2026-03-10T%s:00:00+08:00', p_hour)))], jsonb_build_object('styp', 'ESTT', 'seqn', p_seqn) || p_meta);
begin
  return concat_ws(' ', v_ending, pg_temp.note(), pg_temp.alerts());
end
$fn$;

select is(pg_temp.adft(pg_temp.p(1)), 'SUCCEEDED', 'a flight');
select is(pg_temp.estt('7', 11), 'SUCCEEDED', 'a message');
select is((select row(m.identity_key, m.sndr, m.type, m.styp, m.seqn, m.digest is not null)::text from inbox.proc_state m where m.msg_id = 2), '(AODB|FLOP|ESTT|7,AODB,FLOP,ESTT,7,t)', 'bound, with its parts and digest');
select is(pg_temp.estt('7', 11), 'SKIPPED duplicate-of:2', 'the same again');
select is((select row(m.identity_key, m.seqn)::text from inbox.proc_state m where m.msg_id = 3), '(,7)', 'does not bind, but tells what it was');
select is(pg_temp.estt('7', 12), 'SKIPPED duplicate-of:2 IDENTITY_COLLISION', 'with another body: skipped all the same, and told');
select matches((select a.detail from core.alert a), 'Message 4 has the identity AODB\|FLOP\|ESTT\|7 of message 2', 'naming both');
select is(pg_temp.life(1) || (pg_temp.doc(1) ->> 'ESTT'), 'ACTIVE v2 of 2026-03-102026-03-10T11:00:00+08:00', 'nothing moved');
select is((select m.backfill_next_at is not null from inbox.proc_state m where m.msg_id = 4), true, 'a mark is owed for a duplicate too');
select is(pg_temp.estt('8', 11), 'SUCCEEDED', 'another SEQN');
select is(pg_temp.estt('8', 11, '{"styp": "ESTX"}'), 'SUCCEEDED', 'another STYP');
select is(pg_temp.estt('8', 11, '{"sndr": "X"}'), 'SUCCEEDED', 'another SNDR');
select is(pg_temp.estt('8', 11, '{"sndr": "aodb"}'), 'SUCCEEDED', 'case counts');
select is(pg_temp.estt('07', 11), 'SUCCEEDED', 'SEQN is text');
select is(pg_temp.estt('8', 11, '{"dttm": "2026-03-11T00:00:00+08:00"}'), 'SKIPPED duplicate-of:5', 'the day is no part of it by default');

-- endings that bind
select is(pg_temp.send('FLOP', array[pg_temp.f(1, '{}', '{"GTDT": []}')], '{"styp": "GTDT", "seqn": "20"}'), 'DEAD(PROTOCOL)', 'a refused message');
select is(pg_temp.send('FLOP', array[pg_temp.f(1, '{}', '{"GTDT": []}')], '{"styp": "GTDT", "seqn": "20"}'), 'SKIPPED', 'binds: its resend is a duplicate');
select is(pg_temp.send('OTHER', '{}', '{"type": "LDM", "seqn": "21"}'), 'SKIPPED', 'an ignored one');
select is(pg_temp.send('OTHER', '{}', '{"type": "LDM", "seqn": "21"}') || split_part(pg_temp.note(), ':', 1), 'SKIPPEDduplicate-of', 'binds: the duplicate is found before the rule');
select is(pg_temp.send(null, '{}', '{"verdict": "MALFORMED", "reason": "no SEQN", "sndr": "AODB", "type": "FLOP", "styp": "ESTT", "seqn": "22", "declared": null}'), 'DEAD(MALFORMED)', 'a malformed one');
select is((select m.identity_key from inbox.proc_state m where m.msg_id = pg_temp.last()), null, 'binds none');
select is(pg_temp.estt('22', 11), 'SUCCEEDED', 'so the corrected message is no duplicate');

-- a retry is no duplicate of itself
alter table flight.flight_schd add constraint only_for_this_test check (estt <> '2026-03-10T13:00:00+08:00');
select is(pg_temp.estt('30', 13) like 'FAILED(INFRA)%', true, 'a message that fails');
select is((select m.identity_key from inbox.proc_state m where m.msg_id = pg_temp.last()), 'AODB|FLOP|ESTT|30', 'has bound');
alter table flight.flight_schd drop constraint only_for_this_test;
set local msgx.now to '2026-03-10 06:00:02+08';
select is(pg_temp.step() || pg_temp.state(pg_temp.last()), 'IDLESUCCEEDED', 'its retry is no duplicate of itself');

-- the shadow of an archived message keeps identity and id only
update inbox.proc_state set state = 'ARCHIVED', digest = null where msg_id = 2;
select is(pg_temp.estt('7', 11), 'SKIPPED duplicate-of:2', 'an archived message is still remembered; without its digest nobody can tell a collision');

-- with the day
update core.setting set identity_include_day_boundary = true;
select is(pg_temp.estt('40', 11), 'SUCCEEDED', 'with the day in the identity');
select is((select m.identity_key from inbox.proc_state m where m.msg_id = pg_temp.last()), 'AODB|FLOP|ESTT|40|2026-03-10', 'it is the local day of DTTM');
select is(pg_temp.estt('40', 11, '{"dttm": "2026-03-10T16:00:00Z"}'), 'SUCCEEDED', 'another local day is another message');
select is((select m.identity_key from inbox.proc_state m where m.msg_id = pg_temp.last()), 'AODB|FLOP|ESTT|40|2026-03-11', 'by the airport''s zone');
select is(split_part(pg_temp.estt('40', 11, '{"dttm": "2026-03-10T15:59:59Z"}'), ':', 1), 'SKIPPED duplicate-of', 'the same local day');
select * from finish();
rollback;
