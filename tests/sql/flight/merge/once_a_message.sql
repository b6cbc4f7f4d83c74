-- A flight moves at most one version a message, however often it is touched by it (design 11.1), also where a site combines the switches
-- as neither preset does: O - N deletes, and code shares are linked.
begin;
\ir ../../flights.psql
select plan(8);
update core.setting set policy_absent_flight = 'DELETE';
select request.open_plan('2026-03-10');
select is(pg_temp.dnld(pg_temp.p(1), pg_temp.p(11, '2026-03-10', '{"maid": 1}'), pg_temp.p(2), pg_temp.p(21, '2026-03-10', '{"maid": 2}'),
  pg_temp.p(22, '2026-03-10', '{"maid": 2}')), 'SUCCEEDED', 'a day: two mains and their children');
select request.open_plan('2026-03-10');
select is(pg_temp.dnld(pg_temp.p(1), pg_temp.p(21, '2026-03-10', '{"maid": 2}')), 'SUCCEEDED', 'the day anew: a child of 1 is missing, and 2 with one of its children');
select is(pg_temp.told(), '1 v2 [MAFL]; 2 v2 gone {22}', 'each main is told once: one lost a child, one ended');
select is(pg_temp.states(), '1 v2; 2 v2 gone; 11 v2 gone; 21 v2; 22 v2 gone', 'every flight moved once');
select is((select string_agg(f.flid || f.state, ' ' order by f.flid) from flight.flight_schd f),
  '1ACTIVE 2DELETED 11DELETED 21ACTIVE 22DELETED', 'the child that the plan names outlives its main: that is the latest word on it');
select is((select (e.payload::jsonb -> 'CHILDREN')::text from outbox.msg_event_msg e where e.flid = 2 and e.event_type = 'TOMBSTONE'), '[22]', 'CHILDREN are those that ended');
select is((select string_agg(o.flid::text, ' ' order by o.flid) from ledger.schd_gen_flid o), '1 21', 'the roster is what the plan names');
select is(pg_temp.doc(21) ->> 'MAID', '2', 'dangling now');
select * from finish();
rollback;
