-- Binds a message to its business identity, once (implementation.md 2): SNDR|TYPE|STYP|SEQN, with the day of DTTM where the setting
-- says so. Returns the id of the message that already holds it, null if this one now does. A retry or replay keeps what it bound.
-- A duplicate whose body differs is a duplicate all the same, but somebody must look at it.
-- Reads:  inbox.proc_state
-- Writes: inbox.proc_state, core.alert
-- Locks:  the message's row
-- Raises: nothing
create or replace function pipeline.bind_identity(p_message inbox.stage_message, p_setting core.setting, p_now timestamptz)
returns bigint
language plpgsql
volatile
set search_path to ''
as $fn$
declare
  v_identity constant text := concat_ws(
    '|', p_message.sndr, p_message.type, p_message.styp, p_message.seqn,
    case when p_setting.identity_include_day_boundary
      then to_char(p_message.dttm at time zone p_setting.airport_timezone, 'YYYY-MM-DD') end);
  v_bound text;
  v_holder bigint;
  v_digest bytea;  -- of the holder
begin
  select m.identity_key into v_bound from inbox.proc_state m where m.msg_id = p_message.msg_id;
  if v_bound is null then
    select m.msg_id, m.digest into v_holder, v_digest from inbox.proc_state m where m.identity_key = v_identity;
    if not found then
      v_bound := v_identity;
    elsif v_digest <> p_message.digest then  -- an archived holder may have lost its digest; then nobody can tell
      perform core.raise_alert(
        'IDENTITY_COLLISION',
        format('Message %s has the identity %s of message %s but another body. It was skipped as a duplicate; ask the sender which of the two holds.',
               p_message.msg_id, v_identity, v_holder),
        p_message.msg_id);
    end if;
  end if;
  update inbox.proc_state m
  set identity_key = v_bound,
      digest = p_message.digest,
      sndr = p_message.sndr,
      type = p_message.type,
      styp = p_message.styp,
      seqn = p_message.seqn,
      unmapped = p_message.unmapped,
      updated_at = p_now
  where m.msg_id = p_message.msg_id;
  return case when v_bound is null then v_holder end;
end
$fn$;

comment on function pipeline.bind_identity(inbox.stage_message, core.setting, timestamptz) is 'Binds a message''s identity; returns the id of its other holder, if there is one';
