-- Sends messages through again: FAILED or DEAD of the classes CODEC_ERROR, UNSUPPORTED, INFRA and EXHAUSTED go back to PENDING with a clean
-- slate and keep their identity (implementation.md 9.1). PROTOCOL too, but only where ids or p_classes name it: its verdict hangs on state
-- and settings, which a person may have mended. MALFORMED never: the body does not change, so another try could only repeat the verdict.
--   * p_ids names messages: all of them are replayable, or nothing is changed. The other arguments narrow: p_classes, p_states
--     (FAILED, DEAD), p_type (META.TYPE, any case), p_from and p_to (ids). States alone narrow nothing: a bare "all" is refused.
--   * A message is decoded anew: its staging goes. A mark that was confirmed stays confirmed, any other intent goes until it ends again.
--   * A message whose mark is being written at this moment is refused; with a claim that is just beginning, the row lock decides.
--   * Later messages have run already, and this one does not go back in time. later_messages names those of the same flights, as far as the
--     outbox (kept for msgx.pipeline.event-retention) and the flights' last message tell. Null = none of its flights is known, mostly because
--     it was never decoded.
-- With p_dry_run (the default) nothing is changed or locked. state and error_class are those before.
-- Reads:  inbox.proc_state, inbox.stage_record, outbox.msg_event, flight.flight_schd, core.pipeline_lock
-- Writes: inbox.proc_state, inbox.queue_head, inbox.stage_message, inbox.stage_record
-- Locks:  PIPELINE (the pump reads staging and the queue's head over several statements; at most 15 seconds), the messages' rows
-- Raises: MX012 no such message; MX013 one may not be replayed, or no filter; 55P03 the pump did not pause
create or replace function inbox.replay(
  p_ids bigint[] default null, p_classes text[] default null, p_states text[] default null, p_type text default null,
  p_from bigint default null, p_to bigint default null, p_dry_run boolean default true)
returns table (msg_id bigint, state text, error_class text, later_messages bigint[])
language plpgsql
volatile
security definer
set search_path to ''
set lock_timeout to '15s'
as $fn$
#variable_conflict use_column
declare
  v_now constant timestamptz := core.now();
  v_by_filter constant text[] := array['CODEC_ERROR', 'UNSUPPORTED', 'INFRA', 'EXHAUSTED'];
  v_by_name constant text[] := v_by_filter || 'PROTOCOL'::text;
  v_ids bigint[];
  v_in_hand bigint[];
  v_bad bigint[];
  v_result jsonb;
begin
  p_ids := nullif(p_ids, '{}');
  p_classes := nullif(p_classes, '{}');
  p_states := nullif(p_states, '{}');
  if p_ids is null and p_classes is null and p_type is null and p_from is null and p_to is null then
    raise exception using
      errcode = 'MX013',
      message = 'all messages at once are not replayed',
      hint = 'Name messages, or narrow by class, type or range of ids; inbox.dead (msgx dead) lists what there is.';
  end if;
  if not p_classes <@ v_by_name or not p_states <@ array['FAILED', 'DEAD'] then
    raise exception using
      errcode = 'MX013',
      message = format('messages that are %s are not replayed', array_to_string(p_states || p_classes, ', ')),
      hint = 'Only FAILED and DEAD are, of the classes CODEC_ERROR, UNSUPPORTED, INFRA, EXHAUSTED, PROTOCOL. What was MALFORMED needs a new message.';
  end if;
  if not p_dry_run then
    perform from core.pipeline_lock l where l.name = 'PIPELINE' for update;
  end if;

  v_bad := array(select u.id from unnest(p_ids) u(id) where not exists (select from inbox.proc_state m where m.msg_id = u.id));
  if v_bad <> '{}' then
    raise exception using
      errcode = 'MX012',
      message = format('there is no message %s', core.id_list(v_bad)),
      hint = 'Nothing was changed. inbox.proc_state has a row for every message that was taken in.';
  end if;

  -- Two partial indexes, so two arms.
  v_ids := array(
    select c.msg_id
    from (
      select m.msg_id from inbox.proc_state m where p_ids is not null and m.msg_id = any (p_ids)
      union all
      select m.msg_id from inbox.proc_state m where p_ids is null and m.state = 'DEAD'
      union all
      select m.msg_id from inbox.proc_state m where p_ids is null and m.state = 'FAILED') c
    order by c.msg_id);
  if not p_dry_run then
    perform from inbox.proc_state m where m.msg_id = any (v_ids) order by m.msg_id for update;
  end if;

  v_bad := array(
    select m.msg_id from inbox.proc_state m
    where m.msg_id = any (p_ids) and (m.state not in ('FAILED', 'DEAD') or m.error_class <> all (v_by_name)));
  if v_bad <> '{}' then
    raise exception using
      errcode = 'MX013',
      message = format('message %s is not replayed: %s', core.id_list(v_bad),
        (select string_agg(distinct concat_ws(' ', m.state, m.error_class), ', ') from inbox.proc_state m where m.msg_id = any (v_bad))),
      hint = 'Nothing was changed. Only FAILED and DEAD are replayed, of the classes CODEC_ERROR, UNSUPPORTED, INFRA, EXHAUSTED, PROTOCOL.';
  end if;

  select
    array_agg(m.msg_id order by m.msg_id),
    array_agg(m.msg_id) filter (where m.backfill_at is null and m.backfill_claim_epoch = l.epoch and l.expires_at > v_now)
  into v_ids, v_in_hand
  from inbox.proc_state m
  cross join core.pipeline_lock l
  where m.msg_id = any (v_ids)
    and l.name = 'LEADER'
    and m.state in ('FAILED', 'DEAD')
    and m.error_class = any (case when p_ids is null and p_classes is null then v_by_filter else v_by_name end)
    and (p_classes is null or m.error_class = any (p_classes))
    and (p_states is null or m.state = any (p_states))
    and (p_type is null or upper(m.type) = upper(p_type))
    and (p_from is null or m.msg_id >= p_from)
    and (p_to is null or m.msg_id <= p_to);
  if v_ids is null then
    return;
  end if;
  if v_in_hand is not null and not p_dry_run then
    raise exception using
      errcode = 'MX013',
      message = format('the mark of %s is being written at this moment', core.id_list(v_in_hand)),
      hint = 'Nothing was changed. Try again in a moment.';
  end if;

  with chosen as (
    select
      m.msg_id, m.state, m.error_class,
      coalesce((select array_agg(distinct r.flid) from inbox.stage_record r where r.msg_id = m.msg_id and r.flid is not null), nullif(m.flids, '{}')) as flids
    from inbox.proc_state m
    where m.msg_id = any (v_ids)),
  named as (select c.msg_id, f.flid from chosen c cross join lateral unnest(c.flids) f(flid)),
  ran as (
    select n.msg_id, e.message_id from named n join outbox.msg_event e on e.flid = n.flid where e.message_id > n.msg_id
    union
    select n.msg_id, f.last_message_id from named n join flight.flight_schd f on f.flid = n.flid where f.last_message_id > n.msg_id)
  select jsonb_agg(jsonb_build_object(
    'msg_id', c.msg_id, 'state', c.state, 'error_class', c.error_class,
    'later_messages', case
      when c.flids is not null then (select coalesce(jsonb_agg(r.message_id order by r.message_id), '[]') from ran r where r.msg_id = c.msg_id)
    end) order by c.msg_id)
  into v_result
  from chosen c;

  if not p_dry_run then
    update inbox.proc_state m
    set state = 'PENDING',
        error_class = null,
        last_error = null,
        error_sqlstate = null,
        attempts = 0,
        next_attempt_at = null,
        flids = null,
        finished_at = null,
        updated_at = v_now,
        replays = m.replays + 1,
        backfill_next_at = null,
        backfill_attempts = 0,
        backfill_error = null,
        backfill_claim_epoch = null,
        backfill_claimed_at = null,
        backfill_abandoned_at = null,
        backfill_abandoned_reason = null,
        backfill_acknowledged_at = null,
        backfill_acknowledged_by = null,
        backfill_acknowledged_note = null
    where m.msg_id = any (v_ids);
    delete from inbox.stage_record r where r.msg_id = any (v_ids);
    delete from inbox.stage_message s where s.msg_id = any (v_ids);
    update inbox.queue_head q set finished_through = v_ids[1] - 1 where q.finished_through >= v_ids[1];
  end if;

  return query
  select r.msg_id, r.state, r.error_class, r.later_messages
  from jsonb_to_recordset(v_result) r(msg_id bigint, state text, error_class text, later_messages bigint[])
  order by r.msg_id;
end
$fn$;

comment on function inbox.replay(bigint[], text[], text[], text, bigint, bigint, boolean) is
  'Sends FAILED or DEAD messages through again, or (dry run) says which, and what ran after them';
grant execute on function inbox.replay(bigint[], text[], text[], text, bigint, bigint, boolean) to msgx_operator;
