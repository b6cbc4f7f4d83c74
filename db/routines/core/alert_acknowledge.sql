-- An operator took note of alerts. One that was acknowledged before keeps its first name and time.
-- Reads:  core.alert
-- Writes: core.alert
-- Locks:  the alerts' rows
-- Raises: MX012 no such alert
create or replace function core.alert_acknowledge(p_alert_ids bigint[])
returns integer
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_now constant timestamptz := core.now();
  v_unknown bigint[];
  v_count integer;
begin
  v_unknown := array(
    select i.id from unnest(p_alert_ids) i(id) where not exists (select from core.alert a where a.alert_id = i.id));
  if v_unknown <> '{}' then
    raise exception using
      errcode = 'MX012',
      message = format('there is no alert %s', core.id_list(v_unknown)),
      hint = 'core.alert_view lists the alerts; nothing was acknowledged.';
  end if;
  update core.alert a
  set acknowledged_at = v_now, acknowledged_by = session_user
  where a.alert_id = any (p_alert_ids) and a.acknowledged_at is null;
  get diagnostics v_count = row_count;
  return v_count;
end
$fn$;

comment on function core.alert_acknowledge(bigint[]) is 'Takes note of alerts; returns how many were open';
grant execute on function core.alert_acknowledge(bigint[]) to msgx_operator;
