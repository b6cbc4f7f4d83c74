-- Puts new versions into the outbox: a notice each (unless silent), and the one row of the latest state, replaced forward only
-- (implementation.md 8). A state's JSON is built when the row is claimed; a deletion's is fixed now, by the policy of now.
-- Reads:  nothing
-- Writes: outbox.msg_event
-- Locks:  the flights' rows of KAFKA:schd
-- Raises: nothing
create or replace function outbox.publish(p_news outbox.news[], p_message inbox.stage_message, p_setting core.setting, p_now timestamptz)
returns void
language plpgsql
volatile
security definer
set search_path to ''
set plan_cache_mode to force_generic_plan
set timezone to 'UTC'
as $fn$
begin
  perform set_config('TimeZone', p_setting.airport_timezone, true);

  insert into outbox.msg_event_msg
    (event_id, target, flid, event_type, state_version, message_id, payload, next_attempt_at, created_at, updated_at)
  select
    e.event_id, 'KAFKA:msg', n.flid, n.event_type, n.state_version, p_message.msg_id,
    json_strip_nulls((
      select row_to_json(h) from (
        select
          e.event_id as "EVENT_ID", n.event_type as "EVENT_TYPE", n.flid as "FLID", n.state_version as "STATE_VERSION",
          p_now as "UPDATED_AT",
          (select row_to_json(m) from (select p_message.msg_id as "ID", p_message.type as "TYPE", p_message.styp as "STYP") m) as "MESSAGE",
          coalesce(n.changed, '{}') as "CHANGED", n.children as "CHILDREN") h))::text,
    p_now, p_now, p_now
  from (select * from unnest(p_news) with ordinality u where not u.silent order by u.ordinality) n
  cross join lateral (select nextval('outbox.event_id') as event_id where n.flid is not null) e;

  insert into outbox.msg_event_schd as s
    (event_id, target, flid, event_type, state_version, message_id, payload, next_attempt_at, created_at, updated_at)
  select
    nextval('outbox.event_id'), 'KAFKA:schd', n.flid, n.event_type, n.state_version, p_message.msg_id,
    case when n.event_type = 'TOMBSTONE' and p_setting.policy_tombstone = 'JSON' then
      (select row_to_json(d)::text from (select n.flid as "FLID", n.state_version as "STATE_VERSION", true as "DELETED") d)
    end,
    p_now, p_now, p_now
  from (select * from unnest(p_news) with ordinality u order by u.ordinality) n
  on conflict (flid) do update
  set event_id = excluded.event_id,
      event_type = excluded.event_type,
      state_version = excluded.state_version,
      message_id = excluded.message_id,
      payload = excluded.payload,
      state = 'PENDING',
      attempts = 0,
      next_attempt_at = excluded.next_attempt_at,
      claim_epoch = null,
      claimed_at = null,
      last_error = null,
      created_at = excluded.created_at,
      updated_at = excluded.updated_at,
      sent_at = null
  where excluded.state_version >= s.state_version;
end
$fn$;

comment on function outbox.publish(outbox.news[], inbox.stage_message, core.setting, timestamptz) is 'Puts new versions of flights into the outbox';
