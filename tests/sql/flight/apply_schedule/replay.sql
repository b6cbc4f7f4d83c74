-- flight-state.md 5.1 step 2: a plan that is already the last of its days is a replay: success, and nothing moves but the trace.
begin;
\ir ../../flights.psql
select plan(19);

-- Sends a finished plan through again, as after a restored backup.
create function pg_temp.again(p_id bigint, p_records jsonb[], p_kind text default 'SCHD_RESP') returns text
language plpgsql as $fn$
begin
  update inbox.proc_state set state = 'PENDING', finished_at = null where msg_id = p_id;
  update inbox.queue_head set finished_through = p_id - 1;
  insert into inbox.stage_message (msg_id, kind, sndr, type, styp, seqn, dttm, digest, declared, record_count)
  select m.msg_id, p_kind, m.sndr, m.type, m.styp, m.seqn, '2026-03-10T00:00:00+08', m.digest, cardinality(p_records), cardinality(p_records)
  from inbox.proc_state m where m.msg_id = p_id;
  insert into inbox.stage_record (msg_id, ordinal, flid, flid_text, scalars)
  select p_id, r.ordinality, (r.rec ->> 'flid')::bigint, r.rec ->> 'flid', r.rec -> 'scalars' from unnest(p_records) with ordinality r(rec, ordinality);
  perform pg_temp.step();
  return concat_ws(' ', pg_temp.state(p_id), pg_temp.note(p_id));
end
$fn$;

select is(pg_temp.day_plan('2026-03-10', pg_temp.p(1), pg_temp.p(2)), 'SUCCEEDED', 'a plan');
select is(pg_temp.flop(1, 'ESTT', '{"estt": "2026-03-10T10:20:00+08:00"}'), 'SUCCEEDED', 'a FLOP after it');
create temp table before as select pg_temp.fingerprint() as print, (select md5(string_agg(t::text, ';')) from request.req_track t) as asked;

update core.setting set policy_unasked_resp = 'APPLY';
select is(pg_temp.again(1, array[pg_temp.p(1), pg_temp.p(2)]), 'SUCCEEDED', 'its request is closed: without one it covers no day, so it is applied');
select is(pg_temp.life(1), 'ACTIVE v3 of 2026-03-10', 'as any plan');
select is((select g.version from ledger.schd_gen g), 1::bigint, 'without a generation');

select request.open_plan('2026-03-10');
create temp table open_before as select pg_temp.fingerprint() as print;
select is(pg_temp.again(1, array[pg_temp.p(1), pg_temp.p(2)]), 'SUCCEEDED plan-replayed', 'covering the day, it is a replay');
select is(pg_temp.fingerprint(), (select b.print from open_before b), 'state, rosters, versions, events and requests stand');
select is((select array_agg(t.result order by t.log_id) from ledger.schd_snap_log t), '{COMMITTED,COMMITTED,REPLAY_SKIPPED}'::text[], 'a trace for each attempt');
select is((select row(t.old_version, t.new_version, t.recs, t.covering, t.old_flid_digest = t.new_flid_digest)::text from ledger.schd_snap_log t order by t.log_id desc limit 1), '(1,1,2,t,t)',
  'the replay''s says that nothing moved');

select is(pg_temp.day_plan('2026-03-10', pg_temp.p(1), pg_temp.p(3)), 'SUCCEEDED', 'a later plan');
select request.open_plan('2026-03-10');
select is(pg_temp.again(1, array[pg_temp.p(1), pg_temp.p(2)]), 'SUCCEEDED', 'the first one again is no replay of the latest');
select is((select row(g.version, g.last_message_id)::text from ledger.schd_gen g), '(3,1)', 'it makes a generation of its own');

-- a window of two days, one of which a later plan has covered
update core.setting set schd_trust_window = true;
select is(pg_temp.send('SCHD_DNLD', array[pg_temp.p(1), pg_temp.p(11, '2026-03-11')]), 'SUCCEEDED', 'a window plan');
create temp table plan_id as select pg_temp.last() as id;
select is(pg_temp.again((select i.id from plan_id i), array[pg_temp.p(1), pg_temp.p(11, '2026-03-11')], 'SCHD_DNLD'), 'SUCCEEDED plan-replayed', 'at once again: a replay of both days');
select is(pg_temp.day_plan('2026-03-11', pg_temp.p(11, '2026-03-11')), 'SUCCEEDED', 'the second day is covered anew');
select is(pg_temp.again((select i.id from plan_id i), array[pg_temp.p(1), pg_temp.p(11, '2026-03-11')], 'SCHD_DNLD'), 'SUCCEEDED', 'no replay of all its days: applied');
select is((select string_agg(g.version::text, ',' order by g.operation_day) from ledger.schd_gen g where g.operation_day in ('2026-03-10', '2026-03-11')), '5,3', 'both days move');
select is((select array_agg(t.result order by t.log_id desc) from (select * from ledger.schd_snap_log order by log_id desc limit 2) t), '{COMMITTED,COMMITTED}'::text[], 'and say so');
select is((select count(*) from ledger.schd_gen_flid), (select count(distinct o.flid) from ledger.schd_gen_flid o), 'rosters are disjoint');
select * from finish();
rollback;
