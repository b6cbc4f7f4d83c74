-- The one way a message changes flights (implementation.md 11, 12; flight-state.md 5.4, 6.2): merges the flights it describes, ends those
-- it ends, and tells every version, each flight moving once. Next states are computed whole and saved set by set, so the number of
-- statements does not depend on the number of flights.
--   * A key that is absent keeps the stored value, JSON null or [] clears it. With p_clear (a day plan under CLEAR) absence clears too.
--   * p_ended are active flights that p_records does not name. Where code shares are linked, a main's active children end with it, but
--     for those the message itself describes: that is its latest word on them.
--   * Where code shares are linked, a main whose MAFL has another value than before is told as well.
-- Reads:  flight.flight_schd, its detail tables, flight.flid_version
-- Writes: flight.flight_schd, its detail tables, flight.flight_section, flight.flid_version, ledger.schd_gen_flid, outbox.msg_event
-- Locks:  the flights' rows; the caller holds PIPELINE
-- Raises: MX013 if an operational day would change (trigger)
create or replace function flight.merge(
  p_records flight.incoming[], p_clear boolean, p_ended bigint[],
  p_message inbox.stage_message, p_setting core.setting, p_now timestamptz)
returns void
language plpgsql
volatile
set search_path to ''
set plan_cache_mode to force_generic_plan
set enable_seqscan to off  -- a flight is found by its key, also by a plan that was made while the tables were empty
as $fn$
declare
  v_linked constant boolean := p_setting.policy_code_share = 'LINKED';
  v_steps constant flight.transition[] := flight.next_states(p_records, p_clear, p_message.msg_id, p_now);
  v_order constant text[] := flight.tag_order(p_setting.catalogue_site_scalars);
  v_ended bigint[] := p_ended;
  v_relinked bigint[];  -- flights whose MAFL this message may change
  v_mafl_before jsonb := '{}';
  v_mafl_after jsonb := '{}';
  v_set_changes jsonb;
  v_ended_news outbox.news[] := '{}';
  v_news outbox.news[];
begin
  if v_linked then
    if v_ended <> '{}' then
      v_ended := v_ended || array(
        select child.flid
        from flight.flight_schd main
        join flight.flight_schd child on child.maid = main.flid and child.flid <> main.flid and child.state = 'ACTIVE'
        where main.flid = any (p_ended) and main.maid is null
          and child.flid <> all (p_ended)
          and not exists (select from unnest(p_records) r where r.flid = child.flid)
        order by child.flid);
    end if;
    -- Only an end, a new life, another main, or another number of a child can change a MAFL.
    select array_agg(distinct k.flid) into v_relinked
    from (
      select k.flid
      from unnest(v_steps) u
      cross join lateral (values (u.flid), ((u.before).maid), ((u.after).maid)) k(flid)
      where u.fresh
        or (u.after).maid is distinct from (u.before).maid
        or (u.after).maid is not null and (u.after).flno is distinct from (u.before).flno
      union all
      select f.maid from flight.flight_schd f where f.flid = any (v_ended)) k
    where k.flid is not null;
    if v_relinked is not null then
      select coalesce(jsonb_object_agg(m.flid, m.mafl), '{}') into v_mafl_before from flight.mafl(v_relinked) m;
    end if;
  end if;

  if v_steps <> '{}' then
    perform flight.save_flights(array(select u.after from unnest(v_steps) u order by u.place));
    v_set_changes := flight.replace_sets(v_steps);
    if exists (select from unnest(v_steps) u where u.sections <> '{}' or u.fresh and (u.before).flid is not null) then
      perform flight.save_sections(v_steps, p_message.msg_id, p_now);
    end if;
  end if;
  if v_ended <> '{}' then
    v_ended_news := flight.end_flights(v_ended, p_message.msg_id, p_setting, p_now);
  end if;

  if v_relinked is not null then
    select coalesce(jsonb_object_agg(m.flid, m.mafl), '{}') into v_mafl_after from flight.mafl(v_relinked) m;
  end if;
  select array_agg(
    row(
      u.flid, 'UPSERT', (u.after).state_version,
      flight.changed_tags(
        u, v_set_changes -> u.flid::text,
        v_mafl_before -> u.flid::text is distinct from v_mafl_after -> u.flid::text, v_order),
      null,
      v_linked and (u.after).maid is not null and (u.after).maid <> u.flid
    )::outbox.news
    order by u.place)
  into v_news
  from unnest(v_steps) u;
  v_news := coalesce(v_news, '{}') || v_ended_news;
  if v_relinked is not null then
    v_news := v_news || flight.propagate_mafl(
      array(select k.flid from unnest(v_relinked) k(flid) except select u.flid from unnest(v_steps) u),
      v_mafl_before, v_mafl_after, p_message.msg_id, p_now);
  end if;
  perform outbox.publish(v_news, p_message, p_setting, p_now);
end
$fn$;

comment on function flight.merge(flight.incoming[], boolean, bigint[], inbox.stage_message, core.setting, timestamptz) is
  'Merges the flights a message describes, ends those it ends, and puts every new version into the outbox';
