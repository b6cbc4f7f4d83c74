-- Tells that the mailbox holds ids at or below the watermark that were never taken in: late commits into a hole that was passed over,
-- or ids given out a second time. They are not processed; a person decides (design section 4). The same ids are told once.
-- Reads:  inbox.hole
-- Writes: core.alert
-- Locks:  nothing
-- Raises: nothing
create or replace function inbox.alert_id_reuse(p_ids bigint[], p_watermark bigint)
returns void
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_late bigint[];
  v_key text;
begin
  v_late := array(select u.id from unnest(p_ids) u(id) where exists (select from inbox.hole h where u.id between h.first_id and h.last_id));
  v_key := encode(sha256(convert_to((select string_agg(u.id::text, ',' order by u.id) from unnest(p_ids) u(id)), 'UTF8')), 'hex');
  perform core.raise_alert(
    'MAILBOX_ID_REUSE',
    format('The mailbox holds %s at or below the watermark %s that were never taken in. %sTheir messages are NOT processed. Ask the '
           'mailbox owner what wrote them; to process one after all, enter it: select inbox.enqueue(<id>).',
      core.id_list(p_ids), p_watermark,
      case when v_late = '{}' then 'These ids look given out a second time. '
      else format('Of these, %s came into a hole after it was passed over: msgx.pipeline.max-commit-delay is too short. ', core.id_list(v_late))
      end),
    (select min(u.id) from unnest(p_ids) u(id)),
    'MAILBOX_ID_REUSE:' || v_key);
end
$fn$;

comment on function inbox.alert_id_reuse(bigint[], bigint) is 'Alert MAILBOX_ID_REUSE for ids below the watermark that were never taken in';
