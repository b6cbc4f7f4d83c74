-- The checks that a plan and an ADFT pass as a whole or not at all (implementation.md 7.1; flight-state.md 5.2): RECS against what
-- came, numeric FLIDs, none twice. The RECS of an ADFT says nothing (it may be left out), so p_counted is false for it.
-- Reads:  inbox.stage_record
-- Writes: nothing
-- Locks:  nothing
-- Raises: MX001
create or replace function flight.check_records(p_message inbox.stage_message, p_counted boolean)
returns void
language plpgsql
stable
set search_path to ''
as $fn$
declare
  v_what constant text := format('%s-%s %s', p_message.type, p_message.styp, p_message.msg_id);
  v_hint constant text := 'Nothing of the message was applied; the sender must send it anew.';
  v_bad record;
begin
  if p_counted and p_message.declared is null then
    raise exception using errcode = 'MX001', message = format('%s has no RECS', v_what), hint = v_hint;
  elsif p_counted and (p_message.declared !~ '^[0-9]{1,9}$' or p_message.declared::integer > 9999) then
    raise exception using errcode = 'MX001',
      message = format('RECS of %s is %s, not 0 to 9999', v_what, quote_literal(left(p_message.declared, 40))), hint = v_hint;
  elsif p_counted and p_message.declared::integer <> p_message.record_count then
    raise exception using errcode = 'MX001',
      message = format('%s announces %s records and carries %s', v_what, p_message.declared::integer, p_message.record_count), hint = v_hint;
  end if;

  select r.ordinal, r.flid_text into v_bad
  from inbox.stage_record r where r.msg_id = p_message.msg_id and r.flid is null order by r.ordinal limit 1;
  if found then
    raise exception using errcode = 'MX001',
      message = format('record %s of %s has %s', v_bad.ordinal, v_what,
        case when v_bad.flid_text is null then 'no FLID' else format('the FLID %s, not 1 to 12 digits', quote_literal(v_bad.flid_text)) end),
      hint = v_hint;
  end if;

  select r.flid, min(r.ordinal) as first_ordinal, max(r.ordinal) as last_ordinal into v_bad
  from inbox.stage_record r where r.msg_id = p_message.msg_id group by r.flid having count(*) > 1 order by 2 limit 1;
  if found then
    raise exception using errcode = 'MX001',
      message = format('FLID %s stands in records %s and %s of %s', v_bad.flid, v_bad.first_ordinal, v_bad.last_ordinal, v_what),
      hint = v_hint;
  end if;
end
$fn$;

comment on function flight.check_records(inbox.stage_message, boolean) is 'MX001 unless RECS and the FLIDs of a plan or ADFT are sound';
