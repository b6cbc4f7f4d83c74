-- A flight that a full day's plan leaves out: kept, with a trace of what O - N would have deleted (retain); deleted (ledger,
-- flight-state.md 5.5). Only what the day's old roster names can go.
begin;
\ir ../../flights.psql
select plan(40);

select is(pg_temp.day_plan('2026-03-10', pg_temp.p(1), pg_temp.p(2), pg_temp.p(3)), 'SUCCEEDED', 'the first plan of the 10th');
select is(pg_temp.traces(), '2026-03-10 COMMITTED covering -->1 3 recs {}', 'first generation');
select is(pg_temp.adft(pg_temp.p(7)), 'SUCCEEDED', 'a flight of the 10th that no plan named');
select is(pg_temp.dnld(pg_temp.p(8)), 'SUCCEEDED', 'and one of a plan that covers no day');
select is(pg_temp.roster('2026-03-10'), '{1,2,3}'::bigint[], 'neither is on the roster');
select is(pg_temp.traces(), '2026-03-10 COMMITTED -->- 1 recs {}', 'the window plan moves no generation');

-- retain
select is(pg_temp.day_plan('2026-03-10', pg_temp.p(3), pg_temp.p(4)), 'SUCCEEDED', 'retain: 1 and 2 are left out');
select is(pg_temp.told(), '3 v2 []; 4 v1 [FLNO SODT]', 'retain: nothing is deleted');
select is(pg_temp.life(1) || pg_temp.life(2), 'ACTIVE v1 of 2026-03-10ACTIVE v1 of 2026-03-10', 'retain: they live on');
select is(pg_temp.roster('2026-03-10'), '{3,4}'::bigint[], 'retain: the roster is kept all the same');
select is(pg_temp.traces(), '2026-03-10 COMMITTED covering 1->2 2 recs {RECS_DROP}', 'retain: so is the generation');
select is((select t.would_delete from ledger.schd_snap_log t where t.msg_id = pg_temp.last()), '{1,2}'::bigint[], 'retain: the trace has what O - N would have deleted');
select is((select row(t.would_delete_count, t.deleted_count)::text from ledger.schd_snap_log t where t.msg_id = pg_temp.last()), '(2,0)', 'counted as that');

-- ledger
select pg_temp.policy('ledger');
select is(pg_temp.day_plan('2026-03-10', pg_temp.p(4), pg_temp.p(5)), 'SUCCEEDED', 'ledger: 3 is left out');
select is(pg_temp.told(), '4 v2 []; 5 v1 [FLNO SODT]; 3 v3 gone', 'ledger: 3 is deleted and told');
select is(pg_temp.states(), '3 v3 gone; 4 v2; 5 v1', 'ledger: on the state topic too');
select is(
  (select e.payload from outbox.msg_event e where e.target = 'KAFKA:schd' and e.flid = 3), '{"FLID":3,"STATE_VERSION":3,"DELETED":true}', 'with the JSON form');
select is(pg_temp.life(3), null, 'ledger: the row is gone');
select is((select g.state_version from flight.flid_version g where g.flid = 3), 3::bigint, 'its version remembered');
select is(concat_ws(' ', pg_temp.life(1), pg_temp.life(7), pg_temp.life(8)), 'ACTIVE v1 of 2026-03-10 ACTIVE v1 of 2026-03-10 ACTIVE v1 of 2026-03-10',
  'ledger: what is not on the old roster stays');
select is(pg_temp.roster('2026-03-10'), '{4,5}'::bigint[], 'ledger: the roster is the plan''s');
select is(pg_temp.traces(), '2026-03-10 COMMITTED covering 2->3 2 recs {}', 'third generation');
select is((select row(t.would_delete_count, t.deleted_count, t.would_delete)::text from ledger.schd_snap_log t where t.msg_id = pg_temp.last()), '(0,1,)', 'counted as deleted');

-- FDEL leaves the roster under ledger only
select is(pg_temp.fdel(4), 'SUCCEEDED', 'ledger: FDEL of 4');
select is(pg_temp.roster('2026-03-10'), '{5}'::bigint[], 'ledger: it leaves the roster');
select is((select row(g.version, g.last_message_id < pg_temp.last())::text from ledger.schd_gen g), '(3,t)', 'ledger: and moves no generation');
select pg_temp.policy('retain');
select is(pg_temp.fdel(5), 'SUCCEEDED', 'retain: FDEL of 5');
select is(pg_temp.roster('2026-03-10'), '{5}'::bigint[], 'retain: it stays on the roster');
select is(pg_temp.day_plan('2026-03-10', pg_temp.p(6)), 'SUCCEEDED', 'retain: the next plan');
select is((select row(t.would_delete_count, t.would_delete)::text from ledger.schd_snap_log t where t.msg_id = pg_temp.last()), '(0,)', 'a deleted flight is not deleted again');

-- other days
select pg_temp.policy('ledger');
select is(pg_temp.day_plan('2026-03-11', pg_temp.p(21, '2026-03-11')), 'SUCCEEDED', 'ledger: a plan of the 11th');
select is(pg_temp.life(6), 'ACTIVE v1 of 2026-03-10', 'touches nothing of the 10th');
select is(pg_temp.dnld(pg_temp.p(30)), 'SUCCEEDED', 'ledger: a plan that covers no day');
select is(pg_temp.life(6) || pg_temp.told(), 'ACTIVE v1 of 2026-03-1030 v1 [FLNO SODT]', 'deletes nothing');
select is(pg_temp.day_plan('2026-03-10', variadic '{}'), 'SUCCEEDED', 'ledger: an empty plan of the 10th');
select is(pg_temp.told(), '6 v2 gone', 'everything on its roster goes');
select is(pg_temp.roster('2026-03-10'), null, 'its roster is empty');
select is(pg_temp.traces(), '2026-03-10 COMMITTED covering 4->5 0 recs {EMPTY,RECS_DROP}', 'the trace says so');
select is(pg_temp.alerts(), 'RECS_DROP', 'and a person is told');
select is(pg_temp.life(30) || pg_temp.life(21), 'ACTIVE v1 of 2026-03-10ACTIVE v1 of 2026-03-11', 'the rest lives');
select * from finish();
rollback;
