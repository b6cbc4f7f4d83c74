-- FLOP: merges what one dynamic message says of one flight (implementation.md 12.2). Its subtypes have no branches of their own: the
-- catalogue has typed the tags, and absence keeps, emptiness clears. Three rules are the FLOP's own and stand here: the five sets that
-- only the RMS assigns, the turnaround link that breaks as one, and the route that is cut to four points.
-- Reads:  inbox.stage_record, flight.flight_schd, flight.flid_version
-- Writes: through flight.merge; core.alert
-- Locks:  the flight's row; the caller holds PIPELINE
-- Raises: MX001
create or replace function flight.apply_flop(p_message inbox.stage_message, p_setting core.setting, p_now timestamptz)
returns flight.outcome
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  c_allocations constant text[] := array['GTDT', 'CKDT', 'CLDT', 'CHDT', 'PSDT'];
  v_styp constant text := upper(p_message.styp);
  v_record inbox.stage_record;
  v_flight flight.flight_schd;
  v_scalars jsonb;
  v_sets jsonb;
begin
  select * into v_record from inbox.stage_record r where r.msg_id = p_message.msg_id;

  if p_setting.policy_allocation_flop = 'REFUSE' and (v_styp = any (c_allocations) or v_record.sets ?| c_allocations) then
    raise exception using
      errcode = 'MX001',
      message = format('FLOP-%s for flight %s assigns %s, which only the RMS assigns', p_message.styp, v_record.flid,
        coalesce((select string_agg(t.tag, ', ') from unnest(c_allocations) t(tag) where v_record.sets ? t.tag), v_styp)),
      hint = 'The AODB must not send these five sets in a FLOP (SIS 3.24 to 3.26, 3.34, 3.38); they are taken from day plans.';
  end if;

  if v_record.scalars = '{}' and v_record.extra = '{}' and v_record.sets = '{}' and v_record.sections = '{}' then
    perform core.raise_alert(
      'UNMAPPED_STYP',
      format('FLOP-%s (first: message %s, flight %s) carries no tag that the catalogue knows; it changed nothing. '
             'Add its tags to loader/catalogue.py or to msgx.catalogue.site-scalars.', p_message.styp, p_message.msg_id, v_record.flid),
      p_message.msg_id,
      format('UNMAPPED_STYP:%s:%s', v_styp, flight.operation_day(p_now, p_setting.airport_timezone, '00:00')));
    return row('SUCCEEDED', format('unmapped:%s', p_message.styp), null)::flight.outcome;
  end if;

  select * into v_flight from flight.flight_schd f where f.flid = v_record.flid;
  if v_flight.state = 'DELETED'
     or v_flight.flid is null and exists (select from flight.flid_version g where g.flid = v_record.flid) then
    return row('SUCCEEDED', 'deleted-flight', null)::flight.outcome;
  elsif v_flight.flid is null and p_setting.policy_unknown_flop = 'IGNORE' then
    return row('SUCCEEDED', 'unknown-flight', null)::flight.outcome;
  end if;

  v_scalars := v_record.scalars;
  if v_scalars -> 'taop' = 'null' or v_scalars -> 'tafl' = 'null' or v_scalars -> 'taid' = 'null' then
    v_scalars := v_scalars || '{"taop": null, "tafl": null, "taid": null}';
  end if;

  v_sets := v_record.sets;
  if v_sets ? 'ROUT' then
    v_sets := v_sets || jsonb_build_object('ROUT', (
      select coalesce(jsonb_agg(p.point - 'scat' - 'scdt' order by p.place), '[]')
      from jsonb_array_elements(v_sets -> 'ROUT') with ordinality p(point, place)
      where case
        when case when v_scalars ? 'mvin' then v_scalars ->> 'mvin' else v_flight.mvin end = 'A'
          then p.place > jsonb_array_length(v_sets -> 'ROUT') - 4
        else p.place <= 4
      end));
  end if;

  perform flight.merge(
    array[row(v_record.flid, null, v_scalars, v_record.extra, v_sets, v_record.sections)::flight.incoming],
    false, '{}', p_message, p_setting, p_now);
  return row('SUCCEEDED', null, null)::flight.outcome;
end
$fn$;

comment on function flight.apply_flop(inbox.stage_message, core.setting, timestamptz) is 'FLOP: merges a dynamic message into one flight';
