-- Merges the flights of one message into the current state and tells each of them (implementation.md 11, 12; flight-state.md 5.4).
-- The next state of every flight is computed whole, from the stored row and what the message says of it, and saved once; the number
-- of statements does not depend on the number of flights.
--   * A key that is absent keeps the stored value, JSON null or [] clears it. With p_clear (a day plan under CLEAR) absence clears too.
--   * A flight that is new, or was deleted and lives again, starts from nothing but its version and, where the row stayed, its day.
--   * CHANGED is measured against the version before; a new life has none before it.
-- Reads:  flight.flight_schd, its detail tables, flight.flid_version
-- Writes: flight.flight_schd, its detail tables, flight.flight_section, outbox.msg_event
-- Locks:  the flights' rows; the caller holds PIPELINE
-- Raises: MX013 if an operational day would change (trigger)
create or replace function flight.merge(
  p_records flight.incoming[], p_clear boolean, p_message inbox.stage_message, p_setting core.setting, p_now timestamptz)
returns void
language plpgsql
volatile
set search_path to ''
set plan_cache_mode to force_generic_plan
as $fn$
declare
  v_linked constant boolean := p_setting.policy_code_share = 'LINKED';
  v_order constant text[] := flight.tag_order(p_setting.catalogue_site_scalars);
  v_steps flight.transition[];
  v_candidates bigint[];  -- flights whose MAFL this message may change
  v_mafl_before jsonb := '{}';
  v_mafl_after jsonb := '{}';
  v_tag text;
  v_tag_flids bigint[];
  v_tag_elements jsonb[];
  v_set_changes jsonb;  -- {FLID: [tags of the sets that changed]}
  v_set_flids bigint[] := '{}';  -- with v_set_tags: which sets changed
  v_set_tags text[] := '{}';
  v_news outbox.news[];
begin
  select array_agg(row(i.place, i.flid, i.scalars, i.sets, c, n, w.fresh, w.fresh or p_clear)::flight.transition order by i.place)
  into v_steps
  from unnest(p_records) with ordinality i(flid, operation_day, scalars, extra, sets, sections, place)
  left join flight.flight_schd c on c.flid = i.flid
  left join flight.flid_version g on g.flid = i.flid and c.flid is null
  cross join lateral (select c.flid is null or c.state = 'DELETED' as fresh) w
  cross join lateral jsonb_populate_record(
    case when w.fresh or p_clear then null::flight.flight_schd else c end,
    i.scalars || jsonb_build_object(
      'flid', i.flid,
      'state', 'ACTIVE',
      'state_version', coalesce(c.state_version, g.state_version, 0) + 1,
      'updated_at', p_now,
      'operation_day', coalesce(c.operation_day, i.operation_day),
      'last_message_id', p_message.msg_id,
      'created_at', case when w.fresh then p_now else c.created_at end,
      'extra', jsonb_strip_nulls(case when w.fresh or p_clear then '{}' else c.extra end || i.extra))) n;
  if v_steps is null then
    return;
  end if;

  if v_linked then
    -- Only a new life, another main, or another number of a child can change a MAFL.
    select array_agg(distinct k.flid) into v_candidates
    from unnest(v_steps) u
    cross join lateral (values (u.flid), ((u.before).maid), ((u.after).maid)) k(flid)
    where k.flid is not null
      and (u.fresh
        or (u.after).maid is distinct from (u.before).maid
        or (u.after).maid is not null and (u.after).flno is distinct from (u.before).flno);
    if v_candidates is not null then
      select coalesce(jsonb_object_agg(m.flid, m.mafl), '{}') into v_mafl_before from flight.mafl(v_candidates) m;
    end if;
  end if;

  perform flight.save_flights(array(select u.after from unnest(v_steps) u order by u.place));

  for v_tag in
    select distinct t.tag
    from unnest(v_steps) u
    cross join lateral (
      select jsonb_object_keys(u.sets)
      union all
      select s.tag from unnest(array['GTDT', 'CKDT', 'CLDT', 'CHDT', 'PSDT', 'CHOT', 'DELY', 'ABTM', 'ROUT', 'ERUT']) s(tag)
      where u.wiped and (u.before).flid is not null) t(tag)
  loop
    select array_agg(u.flid), array_agg(coalesce(u.sets -> v_tag, '[]'))
    into v_tag_flids, v_tag_elements
    from unnest(v_steps) u
    where u.sets ? v_tag or u.wiped and (u.before).flid is not null;
    v_tag_flids := flight.replace_set(v_tag, v_tag_flids, v_tag_elements);
    v_set_flids := v_set_flids || v_tag_flids;
    v_set_tags := v_set_tags || array_fill(v_tag, array[cardinality(v_tag_flids)]);
  end loop;

  if exists (select from unnest(v_steps) u where u.fresh and (u.before).flid is not null) then
    -- A row that stayed after its deletion: the raw sections of the old life go with the rest of it.
    delete from flight.flight_section s
    where s.flid in (select u.flid from unnest(v_steps) u where u.fresh and (u.before).flid is not null);
  end if;
  if exists (select from unnest(p_records) r where r.sections <> '{}') then
    perform flight.save_sections(p_records, p_message.msg_id, p_now);
  end if;

  if v_candidates is not null then
    select coalesce(jsonb_object_agg(m.flid, m.mafl), '{}') into v_mafl_after from flight.mafl(v_candidates) m;
  end if;

  select coalesce(jsonb_object_agg(d.flid, d.tags), '{}') into v_set_changes
  from (select u.flid, jsonb_agg(u.tag) as tags from unnest(v_set_flids, v_set_tags) u(flid, tag) group by u.flid) d;

  select array_agg(
    row(
      u.flid, 'UPSERT', (u.after).state_version,
      array(
        select c.tag
        from (
          -- scalars: those the message names, or all where the rest was wiped
          select upper(k.key)
          from (
            select jsonb_object_keys(u.scalars) where not u.wiped
            union all
            select jsonb_object_keys(s.after - array['flid', 'state', 'state_version', 'updated_at', 'operation_day',
                                                     'last_message_id', 'created_at', 'extra']) where u.wiped) k(key)
          where s.after ->> k.key is distinct from case when not u.fresh then s.before ->> k.key end
          union all
          select k.key
          from jsonb_object_keys((u.after).extra || case when u.fresh then '{}' else (u.before).extra end) k(key)
          where (u.after).extra ->> k.key is distinct from case when not u.fresh then (u.before).extra ->> k.key end
          union all
          select t.tag from jsonb_array_elements_text(v_set_changes -> u.flid::text) t(tag) where not u.fresh
          union all
          select e.key from jsonb_each(u.sets) e where u.fresh and e.value <> '[]'
          union all
          select 'MAFL' where v_mafl_before -> u.flid::text is distinct from v_mafl_after -> u.flid::text
        ) c(tag)
        order by array_position(v_order, c.tag), c.tag),
      null,
      v_linked and (u.after).maid is not null and (u.after).maid <> u.flid
    )::outbox.news
    order by u.place)
  into v_news
  from unnest(v_steps) u
  cross join lateral (select to_jsonb(u.after) as after, to_jsonb(u.before) as before) s;

  if v_candidates is not null then
    v_news := v_news || flight.propagate_mafl(
      array(select k.flid from unnest(v_candidates) k(flid) except select u.flid from unnest(v_steps) u),
      v_mafl_before, p_message.msg_id, p_now);
  end if;
  perform outbox.publish(v_news, p_message, p_setting, p_now);
end
$fn$;

comment on function flight.merge(flight.incoming[], boolean, inbox.stage_message, core.setting, timestamptz) is
  'Merges the flights of a message into the current state and puts every new version into the outbox';
