-- The records of a plan or ADFT with the operational day that their SODT gives them.
-- Reads:  inbox.stage_record
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function flight.incoming_records(p_message inbox.stage_message, p_setting core.setting)
returns flight.incoming[]
language sql
stable
set search_path to ''
as $fn$
  select coalesce(array_agg(
    row(
      r.flid,
      flight.operation_day((r.scalars ->> 'sodt')::timestamptz, p_setting.airport_timezone, p_setting.airport_day_cutover),
      r.scalars, r.extra, r.sets, r.sections)::flight.incoming
    order by r.ordinal), '{}')
  from inbox.stage_record r
  where r.msg_id = p_message.msg_id
$fn$;

comment on function flight.incoming_records(inbox.stage_message, core.setting) is 'Records of a message in their order, ready to be merged';
