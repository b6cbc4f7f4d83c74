-- Deleting a main deletes its active children in the same transaction, all or none; its notice lists them; deleting a child tells the
-- main (implementation.md 12.3, design 11.2, 11.7, 11.8). Under ledger each goes by its own FLID.
begin;
\ir ../../flights.psql
select plan(37);

create function pg_temp.child(p_flid bigint, p_main bigint) returns jsonb
language sql as $fn$ select pg_temp.p(p_flid, '2026-03-10', jsonb_build_object('maid', p_main)) $fn$;

select is(pg_temp.dnld(pg_temp.p(1), pg_temp.child(13, 1), pg_temp.child(11, 1), pg_temp.child(12, 1), pg_temp.p(2), pg_temp.child(21, 2)), 'SUCCEEDED', 'two mains and their children');
select is(pg_temp.told(), '1 v1 [FLNO SODT MAFL]; 2 v1 [FLNO SODT MAFL]', 'only the mains are told');
select is(pg_temp.states(), '1 v1; 2 v1; 11 v1; 12 v1; 13 v1; 21 v1', 'all have their state');

-- a child goes
select is(pg_temp.fdel(12), 'SUCCEEDED', 'a child is deleted');
select is(pg_temp.told(), '1 v2 [MAFL]', 'its main is told, itself not');
select is(pg_temp.states(), '1 v2; 12 v2 gone', 'both states move');
select is(pg_temp.doc(1) -> 'MAFL', '[{"FLID": 11, "FLNO": "CA11"}, {"FLID": 13, "FLNO": "CA13"}]'::jsonb, 'it left MAFL');
select is(pg_temp.fdel(12) || coalesce(pg_temp.told(), ''), 'SUCCEEDED', 'again: nothing');

-- a main goes
create temp table before as select pg_temp.fingerprint() as print;
alter table flight.flight_schd add constraint only_for_this_test check (not (flid = 13 and state = 'DELETED'));
select is(pg_temp.fdel(1), 'FAILED(INFRA)', 'one child cannot be deleted');
select is(pg_temp.fingerprint(), (select b.print from before b), 'then neither the main nor any child is');
alter table flight.flight_schd drop constraint only_for_this_test;
set local msgx.now to '2026-03-10 07:00:00+08';
select is(pg_temp.step(), 'IDLE', 'the next try');
select is(pg_temp.told(), '1 v3 gone {11 13}', 'the main''s notice lists its active children, ascending; they send none');
select is(pg_temp.states(), '1 v3 gone; 11 v2 gone; 13 v2 gone', 'tombstones for all');
select is(concat_ws(' ', pg_temp.life(1), pg_temp.life(11), pg_temp.life(12), pg_temp.life(13)),
  'DELETED v3 of 2026-03-10 DELETED v2 of 2026-03-10 DELETED v2 of 2026-03-10 DELETED v2 of 2026-03-10', 'all are gone');
select is(pg_temp.doc(1) ? 'MAFL', false, 'a deleted main carries none');
select is(pg_temp.life(2) || pg_temp.life(21), 'ACTIVE v1 of 2026-03-10ACTIVE v1 of 2026-03-10', 'the other family lives');

-- reborn
select is(pg_temp.adft(pg_temp.child(11, 1)) || coalesce(pg_temp.told(), ''), 'SUCCEEDED', 'a child is reborn first: nobody is told');
select is(pg_temp.adft(pg_temp.p(1)) || pg_temp.told(), 'SUCCEEDED1 v4 [FLNO SODT MAFL]', 'a main reborn carries its active children');
select is(pg_temp.doc(1) -> 'MAFL', '[{"FLID": 11, "FLNO": "CA11"}]'::jsonb, 'only them');

-- flat chains: 31 is child of 3 and itself named by 32
select is(pg_temp.dnld(pg_temp.p(3), pg_temp.child(31, 3), pg_temp.child(32, 31)), 'SUCCEEDED', 'a chain');
select is(pg_temp.fdel(31) || pg_temp.told(), 'SUCCEEDED3 v2 [MAFL]', 'the middle goes: no cascade');
select is(pg_temp.life(32), 'ACTIVE v1 of 2026-03-10', 'what named it lives');
select is(pg_temp.adft(pg_temp.child(31, 3)) || pg_temp.fdel(3) || pg_temp.told(), 'SUCCEEDEDSUCCEEDED3 v4 gone {31}', 'the main goes with its children only');
select is(pg_temp.life(32), 'ACTIVE v1 of 2026-03-10', 'not with its grandchildren');
select is(pg_temp.fdel(32) || coalesce(pg_temp.told(), ''), 'SUCCEEDED', 'a dangling child goes unnoticed');
select is(pg_temp.states(), '32 v2 gone', 'but for its state');

-- itself
select is(pg_temp.dnld(pg_temp.p(4, '2026-03-10', '{"maid": 4}')) || pg_temp.told(), 'SUCCEEDED4 v1 [FLNO SODT MAID]', 'a flight that names itself is nobody''s child');
select is(pg_temp.fdel(4) || pg_temp.told(), 'SUCCEEDED4 v2 gone', 'it goes like any other, once');

-- ledger: rows removed, no cascade
select pg_temp.policy('ledger');
select is(pg_temp.fdel(2) || pg_temp.told(), 'SUCCEEDED2 v2 gone', 'ledger: the main goes alone');
select is(pg_temp.life(21), 'ACTIVE v1 of 2026-03-10', 'ledger: its child lives');
select is(pg_temp.fdel(21) || pg_temp.told(), 'SUCCEEDED21 v2 gone', 'ledger: and is told when it goes');
-- each switch alone: linked flights whose rows are removed
update core.setting set policy_code_share = 'LINKED';
select is(pg_temp.dnld(pg_temp.p(5), pg_temp.child(51, 5), pg_temp.child(52, 5)), 'SUCCEEDED', 'linked, rows removed: a family');
select is(pg_temp.fdel(51) || pg_temp.told() || ' ' || (pg_temp.doc(5) -> 'MAFL'), 'SUCCEEDED5 v2 [MAFL] [{"FLID": 52, "FLNO": "CA52"}]', 'a child goes');
select is(pg_temp.fdel(5) || pg_temp.told(), 'SUCCEEDED5 v3 gone {52}', 'the main goes with the rest');
select is((select count(*) from flight.flight_schd f where f.flid in (5, 51, 52)), 0::bigint, 'no row is left');
select is((select string_agg(g.flid || ':' || g.state_version, ' ' order by g.flid) from flight.flid_version g where g.flid in (5, 51, 52)), '5:3 51:2 52:2', 'all versions remembered');
select is((select e.payload from outbox.msg_event e where e.target = 'KAFKA:schd' and e.flid = 52), '{"FLID":52,"STATE_VERSION":2,"DELETED":true}', 'each with its tombstone');
select * from finish();
rollback;
