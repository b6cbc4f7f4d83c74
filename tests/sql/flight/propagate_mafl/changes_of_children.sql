-- A main moves when the value of its MAFL changes: a child added, lost, re-pointed, renamed; both its events are written in the same
-- transaction; a child's other changes move the child alone, which sends no notice of its own (design 11.5, 11.6; INV-22).
begin;
\ir ../../flights.psql
select plan(47);

create function pg_temp.child(p_flid bigint, p_main bigint, p_more jsonb default '{}') returns jsonb
language sql as $fn$ select pg_temp.p(p_flid, '2026-03-10', jsonb_build_object('maid', p_main) || p_more) $fn$;
create function pg_temp.mafl(p_flid bigint) returns text
language sql as $fn$ select string_agg((m ->> 'FLID') || ':' || coalesce(m ->> 'FLNO', '-'), ' ') from jsonb_array_elements(pg_temp.doc(p_flid) -> 'MAFL') m $fn$;

-- child before main
select is(pg_temp.adft(pg_temp.child(11, 1)), 'SUCCEEDED', 'a child before its main: nothing stands in its way');
select is(pg_temp.told(), null, 'no notice of a dangling child');
select is(pg_temp.states(), '11 v1', 'its state is on the topic');
select is(pg_temp.doc(11) ->> 'MAID', '1', 'with its MAID');
select is(pg_temp.adft(pg_temp.p(1)) || pg_temp.told(), 'SUCCEEDED1 v1 [FLNO SODT MAFL]', 'the main comes and carries it at once');
select is(pg_temp.mafl(1), '11:CA11', 'MAFL');

-- added, by plan, one version a message
select is(pg_temp.dnld(pg_temp.child(13, 1), pg_temp.child(12, 1)), 'SUCCEEDED', 'two more children in one plan');
select is(pg_temp.told(), '1 v2 [MAFL]', 'the main moves once');
select is(pg_temp.states(), '1 v2; 12 v1; 13 v1', 'both its events and the children''s states');
select is(pg_temp.mafl(1), '11:CA11 12:CA12 13:CA13', 'by FLID, however they came');
select is((select row(f.last_message_id = pg_temp.last(), f.updated_at = core.now())::text from flight.flight_schd f where f.flid = 1), '(t,t)', 'LAST_MESSAGE_ID is that of the message that caused it');

-- other changes
select is(pg_temp.flop(11, 'ESTT', '{"estt": "2026-03-10T11:00:00+08:00"}') || coalesce(pg_temp.told(), ' silent') || pg_temp.states(), 'SUCCEEDED silent11 v2', 'a child''s time moves the child alone');
select is(pg_temp.flop(1, 'ESTT', '{"estt": "2026-03-10T11:00:00+08:00"}') || pg_temp.told() || pg_temp.states(), 'SUCCEEDED1 v3 [ESTT]1 v3', 'the main''s moves the main alone');

-- renamed
select is(pg_temp.flop(12, 'FLNO', '{"flno": "MU9"}') || pg_temp.told() || ' ' || pg_temp.mafl(1), 'SUCCEEDED1 v4 [MAFL] 11:CA11 12:MU9 13:CA13', 'renamed: the main moves, the order stays');
select is(pg_temp.flop(12, 'FLNO', '{"flno": "MU9"}') || coalesce(pg_temp.told(), ' silent'), 'SUCCEEDED silent', 'the same name again: it does not');
select is(pg_temp.flop(12, 'FLNO', '{"flno": null}') || pg_temp.told() || ' ' || pg_temp.mafl(1), 'SUCCEEDED1 v5 [MAFL] 11:CA11 12:- 13:CA13', 'a number taken away');
select is(pg_temp.flop(1, 'FLNO', '{"flno": "ZH1"}') || pg_temp.told(), 'SUCCEEDED1 v6 [FLNO]', 'the main''s own number is no MAFL');

-- re-pointed
select is(pg_temp.adft(pg_temp.p(2)), 'SUCCEEDED', 'a second main');
select is(pg_temp.adft(pg_temp.f(12, '{"maid": 2}')) || pg_temp.told(), 'SUCCEEDED1 v7 [MAFL]; 2 v2 [MAFL]', 're-pointed: both mains move');
select is(concat_ws(' | ', pg_temp.mafl(1), pg_temp.mafl(2)), '11:CA11 13:CA13 | 12:-', 'both lists');
select is(pg_temp.flop(13, 'MAID', '{"maid": 777}') || pg_temp.told(), 'SUCCEEDED1 v8 [MAFL]', 're-pointed to nobody, by FLOP: the old main moves');
select is(pg_temp.flop(13, 'MAID', '{"maid": null}') || pg_temp.told(), 'SUCCEEDED13 v3 [MAID]', 'a child set free is told like any flight');
select is(pg_temp.flop(13, 'MAID', '{"maid": 13}') || pg_temp.told(), 'SUCCEEDED13 v4 [MAID]', 'naming itself it is nobody''s child');
select is(pg_temp.mafl(13), null, 'and carries nothing');
select is(pg_temp.flop(13, 'MAID', '{"maid": 1}') || pg_temp.told(), 'SUCCEEDED1 v9 [MAFL]', 'a child again: from now on silent');

-- a main becomes a child and back: chains are flat
select is(pg_temp.flop(2, 'MAID', '{"maid": 1}') || pg_temp.told(), 'SUCCEEDED1 v10 [MAFL]', 'a main with children becomes a child');
select is(pg_temp.mafl(1), '2:CA2 11:CA11 13:CA13', 'it is on the other''s list, its child is not');
select is(pg_temp.mafl(2), null, 'it carries none any more');
select is(pg_temp.flop(12, 'FLNO', '{"flno": "MU8"}') || coalesce(pg_temp.told(), ' silent'), 'SUCCEEDED silent', 'its child''s name moves nobody');
select is(pg_temp.flop(2, 'MAID', '{"maid": null}') || pg_temp.told(), 'SUCCEEDED2 v4 [MAID MAFL]; 1 v11 [MAFL]', 'free again: it carries its child again, and tells both in one notice');
select is(pg_temp.mafl(2), '12:MU8', 'with the present name');

-- main and child in one plan
select is(pg_temp.dnld(pg_temp.p(1, '2026-03-10', '{"reno": "B1"}'), pg_temp.child(14, 1)), 'SUCCEEDED', 'main and new child in one plan');
select is(pg_temp.told(), '1 v12 [FLNO RENO MAFL]', 'one version, one notice, with both');
select is(pg_temp.dnld(pg_temp.child(14, 1), pg_temp.p(1)) || pg_temp.told(), 'SUCCEEDED1 v13 []', 'again: named, so it moves, without a change');
select is(pg_temp.dnld(pg_temp.child(14, 1)) || coalesce(pg_temp.told(), ' silent'), 'SUCCEEDED silent', 'the child alone: the main stays');

-- deleted main, dangling child
select is(pg_temp.fdel(1) || substring(pg_temp.told() from '1 v14 gone.*'), 'SUCCEEDED1 v14 gone {11 13 14}', 'the main goes');
select is(pg_temp.adft(pg_temp.child(11, 1)) || coalesce(pg_temp.told(), ' silent'), 'SUCCEEDED silent', 'a child of a deleted main: nobody is told');
select is(pg_temp.life(1), 'DELETED v14 of 2026-03-10', 'and the main does not move');

-- bytes do not depend on the order of arrival
select pg_temp.adft(pg_temp.p(50)), pg_temp.adft(pg_temp.child(52, 50)), pg_temp.adft(pg_temp.child(51, 50));
select pg_temp.adft(pg_temp.child(61, 60)), pg_temp.adft(pg_temp.child(62, 60)), pg_temp.adft(pg_temp.p(60));
select is((select d.document ->> 'MAFL' from flight.document('{50}') d), '[{"FLID":51,"FLNO":"CA51"},{"FLID":52,"FLNO":"CA52"}]', 'main first, children backwards');
select is((select d.document ->> 'MAFL' from flight.document('{60}') d), '[{"FLID":61,"FLNO":"CA61"},{"FLID":62,"FLNO":"CA62"}]', 'main last, children forwards');

-- independent (ledger)
update core.setting set policy_code_share = 'INDEPENDENT';
select is(pg_temp.mafl(50), null, 'ledger: there is no MAFL');
select is(pg_temp.adft(pg_temp.child(53, 50)) || pg_temp.told() || pg_temp.states(), 'SUCCEEDED53 v1 [FLNO SODT MAID]53 v1', 'ledger: a child tells its own, the main stays');
select is(pg_temp.flop(53, 'FLNO', '{"flno": "X"}') || pg_temp.told(), 'SUCCEEDED53 v2 [FLNO]', 'ledger: renamed likewise');
select is(pg_temp.flop(53, 'MAID', '{"maid": 60}') || pg_temp.told(), 'SUCCEEDED53 v3 [MAID]', 'ledger: re-pointed likewise');
select is(pg_temp.fdel(50) || pg_temp.told(), 'SUCCEEDED50 v4 gone', 'ledger: the main goes alone');
select is(pg_temp.life(51), 'ACTIVE v1 of 2026-03-10', 'ledger: its children live');
select is(pg_temp.fdel(51) || pg_temp.told(), 'SUCCEEDED51 v2 gone', 'ledger: and tell their own end');
select * from finish();
rollback;
