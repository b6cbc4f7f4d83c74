-- An event that failed by its own fault (implementation.md 8.1). A permanent fault (oversize) is DEAD at once; another one counts a try and
-- backs off by the ladder, and is DEAD when the ladder is used up. Returns the state it has now. A KAFKA:schd row that was replaced
-- meanwhile is left as it is: its fault went with the old generation.
-- Reads:  core.setting
-- Writes: outbox.msg_event, core.alert
-- Locks:  LEADER for key share, the event's row
-- Raises: MX010 stale leader epoch; MX012 no such event
create or replace function outbox.fail(
  p_epoch bigint, p_target text, p_event_id bigint, p_state_version bigint, p_reason text, p_permanent boolean)
returns text
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_now timestamptz;
  v_setting core.setting;
  v_event outbox.msg_event;
begin
  perform core.require_epoch(p_epoch);
  v_now := core.now();
  select * into strict v_setting from core.setting;

  update outbox.msg_event e
  set attempts = e.attempts + 1,
      state = case when p_permanent or e.attempts + 1 >= v_setting.pipeline_event_attempts then 'DEAD' else 'PENDING' end,
      next_attempt_at = v_now + coalesce(v_setting.pipeline_event_ladder[e.attempts + 1], interval '0'),
      last_error = left(p_reason, 2000),
      claim_epoch = null,
      claimed_at = null
  where e.target = p_target and e.event_id = p_event_id and e.state_version = p_state_version and e.state = 'PENDING'
  returning e.* into v_event;
  if not found then
    select e.* into v_event from outbox.msg_event e where e.target = p_target and e.event_id = p_event_id;
    if found then
      return v_event.state;
    elsif p_target = 'KAFKA:schd' then
      return 'PENDING';  -- replaced by a newer state, which is due in its own right
    end if;
    raise exception using
      errcode = 'MX012',
      message = format('there is no event %s of target %s', p_event_id, coalesce(p_target, '(none)')),
      hint = 'Only an event that was claimed can fail.';
  end if;

  if v_event.state = 'DEAD' then
    perform core.raise_alert(
      'EVENT_DEAD',
      format('%s: event %s of flight %s, version %s, was given up after %s: %s. %s Mend the cause, then msgx dead requeue; or msgx dead discard.',
        p_target, p_event_id, v_event.flid, v_event.state_version,
        case v_event.attempts when 1 then 'one try' else v_event.attempts || ' tries' end, left(p_reason, 500),
        case p_target
          when 'KAFKA:msg' then 'Later notices of this flight go on without it.'
          else 'The topic keeps an older state until the flight changes again.'
        end),
      v_event.message_id);
  end if;
  return v_event.state;
end
$fn$;

comment on function outbox.fail(bigint, text, bigint, bigint, text, boolean) is 'Counts a try of an event that failed; returns PENDING or DEAD';
grant execute on function outbox.fail(bigint, text, bigint, bigint, text, boolean) to msgx_app;
