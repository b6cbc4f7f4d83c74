-- Rosters and generations move together, by compare-and-set against the version that was read (flight-state.md 5.1 steps 8, 9; 9: a
-- conflict rolls back and is tried again).
begin;
\ir ../../flights.psql
select plan(14);

create function pg_temp.replace(p_days date[], p_old bigint[], p_flids bigint[]) returns text
language plpgsql as $fn$
declare
  v_message inbox.stage_message;
  v_trace ledger.schd_snap_log[];
begin
  v_message.msg_id := 77;
  select array_agg(jsonb_populate_record(null::ledger.schd_snap_log, jsonb_build_object('operation_day', d.day, 'covering', true, 'old_version', d.old, 'new_version', coalesce(d.old, 0) + 1)))
  into v_trace from unnest(p_days, p_old) d(day, old);
  perform ledger.replace_rosters(p_days,
    (select array_agg(row(f.flid, p_days[1 + (f.ordinality - 1) % cardinality(p_days)], '{}', '{}', '{}', '{}')::flight.incoming) from unnest(p_flids) with ordinality f(flid, ordinality)),
    v_message, v_trace, core.now());
  return (select string_agg(format('%s v%s %s', g.operation_day, g.version, pg_temp.roster(g.operation_day)), ', ' order by g.operation_day) from ledger.schd_gen g);
end
$fn$;
select is(pg_temp.replace('{2026-03-10}', '{null}', '{1,2}'), '2026-03-10 v1 {1,2}', 'the first generation');
select is(pg_temp.replace('{2026-03-10}', '{1}', '{2,3}'), '2026-03-10 v2 {2,3}', 'the second replaces it');
select is(pg_temp.replace('{2026-03-10,2026-03-11}', '{2,null}', '{2,11,3,12}'), '2026-03-10 v3 {2,3}, 2026-03-11 v1 {11,12}', 'two days at once');
select throws_ok('select pg_temp.replace(''{2026-03-10}'', ''{2}'', ''{9}'')', '40001', null, 'another generation came between');
select throws_ok('select pg_temp.replace(''{2026-03-10}'', ''{null}'', ''{9}'')', '40001', null, 'also where none was seen');
select throws_ok('select pg_temp.replace(''{2026-03-10,2026-03-11}'', ''{3,7}'', ''{9,10}'')', '40001', null, 'one of two days is enough');
select is(pg_temp.replace('{2026-03-11}', '{1}', '{11}'), '2026-03-10 v3 {2,3}, 2026-03-11 v2 {11}', 'nothing of those landed');
select is(pg_temp.replace('{2026-03-11}', '{2}', '{}'), '2026-03-10 v3 {2,3}, 2026-03-11 v3 ', 'an empty roster');
select is(pg_temp.replace('{2026-03-11}', '{3}', '{2,12}'), '2026-03-10 v3 {3}, 2026-03-11 v4 {2,12}', 'days stay disjoint');
select is((select row(g.last_message_id, g.last_recv_at = core.now())::text from ledger.schd_gen g where g.operation_day = '2026-03-11'), '(77,t)', 'with the plan and the time');

-- through the pump: the conflict is INFRA, and the next try succeeds
create function pg_temp.interfere() returns trigger
language plpgsql as $fn$ begin new.version := new.version + 1; return new; end $fn$;
create trigger interfere before update on ledger.schd_gen for each row execute function pg_temp.interfere();
create function pg_temp.conflict() returns trigger
language plpgsql as $fn$ begin return null; end $fn$;
drop trigger interfere on ledger.schd_gen;
create trigger conflict before update on ledger.schd_gen for each row execute function pg_temp.conflict();
select is(pg_temp.day_plan('2026-03-10', pg_temp.p(3)), 'FAILED(INFRA)', 'a conflict fails the try');
select is((select m.error_sqlstate from inbox.proc_state m where m.msg_id = pg_temp.last()) || coalesce(pg_temp.life(3), ' nothing'), '40001 nothing', 'nothing landed');
drop trigger conflict on ledger.schd_gen;
set local msgx.now to '2026-03-10 06:00:02+08';
select pg_temp.step();
select is(pg_temp.state(pg_temp.last()) || pg_temp.life(3), 'SUCCEEDEDACTIVE v1 of 2026-03-10', 'tried again by itself');
select is((select array_agg(t.result order by t.log_id) from ledger.schd_snap_log t), '{ROLLED_BACK,COMMITTED}'::text[], 'both attempts are traced');
select * from finish();
rollback;
