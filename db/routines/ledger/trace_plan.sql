-- What there is to remember of one attempt at a plan: a row for each day it covers or touches, or one without a day (flight-state.md
-- 5.6). Built while the old rosters still stand, written after the commit by ledger.append_trace. Backwards SEQN or DTTM are alerts
-- of the plan's own transaction; they decide nothing, since SEQN starts anew when the message server does.
-- Reads:  ledger.schd_gen, ledger.schd_gen_flid, ledger.plan_sequence
-- Writes: ledger.plan_sequence, core.alert
-- Locks:  the sender's row
-- Raises: nothing
create or replace function ledger.trace_plan(
  p_message inbox.stage_message, p_records flight.incoming[], p_covered date[], p_missing bigint[],
  p_result text, p_reason text, p_setting core.setting, p_now timestamptz)
returns ledger.schd_snap_log[]
language plpgsql
volatile
set search_path to ''
as $fn$
declare
  v_last ledger.plan_sequence;
  v_flags text[] := '{}';
  v_trace ledger.schd_snap_log[];
begin
  select * into v_last from ledger.plan_sequence s where s.sndr = p_message.sndr;
  if v_last.message_id < p_message.msg_id then
    if p_message.dttm < v_last.dttm then
      v_flags := v_flags || 'OUT_OF_ORDER'::text;
    end if;
    if p_message.seqn ~ '^[0-9]{1,18}$' and v_last.seqn ~ '^[0-9]{1,18}$' and p_message.seqn::bigint < v_last.seqn::bigint then
      v_flags := v_flags || 'SEQN_REGRESSION'::text;
    end if;
  end if;
  if p_result = 'COMMITTED' then
    if 'SEQN_REGRESSION' = any (v_flags) then
      perform core.raise_alert(
        'SEQN_REGRESSION',
        format('Plan %s of %s has SEQN %s after %s of message %s: the sender''s message server was restarted, or plans come out of order. '
               'It was applied.', p_message.msg_id, p_message.sndr, p_message.seqn, v_last.seqn, v_last.message_id),
        p_message.msg_id);
    end if;
    insert into ledger.plan_sequence (sndr, seqn, dttm, message_id)
    values (p_message.sndr, p_message.seqn, p_message.dttm, p_message.msg_id)
    on conflict (sndr) do update set seqn = excluded.seqn, dttm = excluded.dttm, message_id = excluded.message_id;
  end if;

  select array_agg(
    row(
      null, d.day, p_message.msg_id, p_now, n.recs, d.covering, g.version,
      case when d.covering and p_result = 'COMMITTED' then coalesce(g.version, 0) + 1 when d.covering then g.version end,
      case when p_setting.policy_absent_flight = 'DELETE' then coalesce(m.missing, 0) else 0 end,
      case when p_setting.policy_absent_flight = 'KEEP' then coalesce(m.missing, 0) else 0 end,
      case when p_setting.policy_absent_flight = 'KEEP' then m.flids end,
      p_result,
      v_flags
        || case when n.recs = 0 and (p_result <> 'ROLLED_BACK' or p_message.record_count = 0) then array['EMPTY'] else '{}' end
        || case when d.covering and n.recs < o.recs * (1 - p_setting.schd_drop_share) then array['RECS_DROP'] else '{}' end,
      p_reason, o.digest, n.digest, null, null
    )::ledger.schd_snap_log
    order by d.day)
  into v_trace
  from (
    select c.day, true as covering from unnest(p_covered) c(day)
    union all
    select distinct r.operation_day, false
    from unnest(p_records) r where r.operation_day is not null and r.operation_day <> all (p_covered)
    union all
    select null, false where cardinality(p_covered) = 0 and not exists (select from unnest(p_records) r where r.operation_day is not null)
  ) d
  left join ledger.schd_gen g on g.operation_day = d.day and d.covering
  cross join lateral (
    select count(*)::integer as recs, ledger.roster_digest(coalesce(array_agg(r.flid), '{}')) as digest
    from unnest(p_records) r where r.operation_day is not distinct from d.day) n
  cross join lateral (
    select count(*)::integer as recs, case when g.version is not null then ledger.roster_digest(coalesce(array_agg(x.flid), '{}')) end as digest
    from ledger.schd_gen_flid x where x.operation_day = d.day and d.covering) o
  left join lateral (
    select count(*)::integer as missing, array_agg(x.flid order by x.flid) as flids
    from ledger.schd_gen_flid x
    where x.operation_day = d.day and d.covering and x.flid = any (p_missing)
    having count(*) > 0) m on true;

  if p_result = 'COMMITTED' then
    perform core.raise_alert(
      'RECS_DROP',
      format('Plan %s covers %s with %s flights, over %s %% fewer than the plan before it. It was applied; ask the AODB.',
             p_message.msg_id, t.operation_day, t.recs, round(100 * p_setting.schd_drop_share)),
      p_message.msg_id)
    from unnest(v_trace) t where 'RECS_DROP' = any (t.flags);
  end if;
  return v_trace;
end
$fn$;

comment on function ledger.trace_plan(inbox.stage_message, flight.incoming[], date[], bigint[], text, text, core.setting, timestamptz) is
  'Trace rows of one attempt at a plan, to be appended after the commit';
