-- Takes one staged message to its end, or to its next try: verdict, identity, ignore rules, dispatch (implementation.md 5.2). State,
-- events, ending and the owed mark belong to the caller's transaction; what a failed message did is rolled back by the one subtransaction
-- around all of it, but for its identity, which is bound again. SQLSTATE decides the class, never a text:
--   MX001 PROTOCOL and MX002 MALFORMED end DEAD; MX003 UNSUPPORTED and MX004 CODEC_ERROR are tried again; MX010 is the caller's;
--   everything else, deadlock or bug, is INFRA and is tried again.
-- A cancelled statement (time-out) is INFRA too, and asks the caller to stop, since the time is up.
-- Reads:  inbox.stage_message
-- Writes: inbox.proc_state, staging, and through the rules all that a message changes; core.alert
-- Locks:  the message's row; the caller holds PIPELINE
-- Raises: MX010
create or replace function pipeline.process_message(
  p_message inbox.stage_message, p_setting core.setting, out trace ledger.schd_snap_log[], out cancelled boolean)
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_now constant timestamptz := core.now();
  v_is_plan constant boolean := p_message.kind in ('SCHD_DNLD', 'SCHD_RESP');
  v_holder bigint;
  v_bound boolean := false;
  v_rule text;
  v_outcome flight.outcome;
  v_sqlstate text;
  v_error text;
  v_hint text;
  v_constraint text;
  v_class text;
begin
  cancelled := false;
  if p_message.verdict is not null then
    -- Whose message it was is worth knowing, where that much could be read; it binds no identity.
    update inbox.proc_state m
    set sndr = p_message.sndr, type = p_message.type, styp = p_message.styp, seqn = p_message.seqn
    where m.msg_id = p_message.msg_id;
  end if;
  if p_message.verdict = 'MALFORMED' then
    perform inbox.finish_message(p_message.msg_id, 'DEAD', 'MALFORMED', p_message.reason, v_now);
    return;
  elsif p_message.verdict = 'CODEC_ERROR' then
    perform inbox.fail_message(p_message.msg_id, 'CODEC_ERROR', p_message.reason, p_setting, v_now);
    return;
  end if;

  -- All that can fail stands in here, so that whatever does is counted; an error further out would hold the queue for ever.
  begin
    v_holder := pipeline.bind_identity(p_message, p_setting, v_now);
    v_bound := true;
    if v_holder is not null then
      perform inbox.finish_message(p_message.msg_id, 'SKIPPED', null, format('duplicate-of:%s', v_holder), v_now);
      return;
    end if;
    v_rule := pipeline.ignore_rule(p_message.type, p_message.styp, p_setting.pipeline_ignore);
    if v_rule is not null then
      perform inbox.finish_message(p_message.msg_id, 'SKIPPED', null, format('ignored:%s', v_rule), v_now);
      return;
    end if;

    case p_message.kind
      when 'SCHD_DNLD', 'SCHD_RESP' then
        v_outcome := flight.apply_schedule(p_message, p_setting, v_now);
      when 'SCHD_ADFT' then
        v_outcome := flight.apply_adft(p_message, p_setting, v_now);
      when 'FLOP' then
        v_outcome := flight.apply_flop(p_message, p_setting, v_now);
      when 'FDEL' then
        v_outcome := flight.apply_fdel(p_message, p_setting, v_now);
      else
        raise exception using
          errcode = 'MX003',
          message = format('there is no rule for %s-%s yet', p_message.type, p_message.styp),
          hint = 'Add it to msgx.pipeline.ignore if it is not wanted; otherwise replay it once a release knows it.';
    end case;
    perform inbox.finish_message(p_message.msg_id, v_outcome.state, null, v_outcome.note, v_now);
  exception
    when sqlstate 'MX010' then
      raise;
    when query_canceled or others then
      get stacked diagnostics
        v_sqlstate = returned_sqlstate, v_error = message_text, v_hint = pg_exception_hint, v_constraint = constraint_name;
  end;
  if v_sqlstate is null then
    trace := v_outcome.trace;
    for i in 1 .. coalesce(cardinality(trace), 0) loop
      trace[i].duration_ms := extract(epoch from core.now() - v_now) * 1000;
    end loop;
    return;
  end if;

  v_class := case v_sqlstate
    when 'MX001' then 'PROTOCOL' when 'MX002' then 'MALFORMED' when 'MX003' then 'UNSUPPORTED' when 'MX004' then 'CODEC_ERROR' else 'INFRA' end;
  cancelled := v_sqlstate = '57014';
  if v_bound then
    perform pipeline.bind_identity(p_message, p_setting, v_now);  -- it was rolled back with the rest, and every ending keeps it
  end if;
  if v_is_plan then
    trace := ledger.trace_refused(p_message, v_error, v_constraint, p_setting, v_now);
  end if;
  if v_class = 'PROTOCOL' and v_constraint in ('SAME_FLID_ACROSS_OPERATION_DAYS', 'ROSTER_CONTRADICTION') then
    perform core.raise_alert(v_constraint, v_error || '. ' || v_hint, p_message.msg_id);
  end if;
  if v_class in ('PROTOCOL', 'MALFORMED') then
    perform inbox.finish_message(p_message.msg_id, 'DEAD', v_class, v_error, v_now, v_sqlstate);
  else
    perform inbox.fail_message(p_message.msg_id, v_class, v_error, p_setting, v_now, v_sqlstate);
  end if;
end
$fn$;

comment on function pipeline.process_message(inbox.stage_message, core.setting) is
  'Takes a staged message to its end or its next try; returns the traces of a plan and whether the statement was cancelled';
