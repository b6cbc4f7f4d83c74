-- ADFT: creates or updates one flight; what it carries is set, what it leaves out stays (implementation.md 12.3). It moves no roster
-- and answers no request.
-- Reads:  inbox.stage_record, flight.flight_schd
-- Writes: through flight.merge
-- Locks:  the flight's row; the caller holds PIPELINE
-- Raises: MX001
create or replace function flight.apply_adft(p_message inbox.stage_message, p_setting core.setting, p_now timestamptz)
returns flight.outcome
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_records flight.incoming[];
begin
  perform flight.check_records(p_message, false);
  if p_message.record_count <> 1 then
    raise exception using
      errcode = 'MX001',
      message = format('ADFT %s carries %s flights; it is about one', p_message.msg_id, p_message.record_count),
      hint = 'Nothing of the message was applied; the sender must send one ADFT for each flight.';
  end if;
  v_records := flight.incoming_records(p_message, p_setting);
  perform flight.claim_days(v_records, p_message, p_setting, p_now);
  perform flight.merge(v_records, false, '{}', p_message, p_setting, p_now);
  return row('SUCCEEDED', null, null)::flight.outcome;
end
$fn$;

comment on function flight.apply_adft(inbox.stage_message, core.setting, timestamptz) is 'ADFT: creates or updates one flight';
