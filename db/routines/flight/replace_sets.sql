-- Replaces the sets that a message names, and empties the others of flights that start anew or are described in full.
-- Reads:  the detail tables
-- Writes: the detail tables
-- Locks:  the rows replaced
-- Raises: nothing
create or replace function flight.replace_sets(p_steps flight.transition[])
returns jsonb
language plpgsql
volatile
set search_path to ''
set plan_cache_mode to force_generic_plan
as $fn$
declare
  v_tag text;
  v_flids bigint[];
  v_elements jsonb[];
  v_changed_flids bigint[] := '{}';  -- with v_changed_tags
  v_changed_tags text[] := '{}';
begin
  for v_tag in
    select distinct t.tag
    from unnest(p_steps) u
    cross join lateral (
      select jsonb_object_keys(u.sets)
      union all
      select s.tag from unnest(array['GTDT', 'CKDT', 'CLDT', 'CHDT', 'PSDT', 'CHOT', 'DELY', 'ABTM', 'ROUT', 'ERUT']) s(tag)
      where u.wiped and (u.before).flid is not null) t(tag)
  loop
    select array_agg(u.flid), array_agg(coalesce(u.sets -> v_tag, '[]'))
    into v_flids, v_elements
    from unnest(p_steps) u
    where u.sets ? v_tag or u.wiped and (u.before).flid is not null;
    v_flids := flight.replace_set(v_tag, v_flids, v_elements);
    v_changed_flids := v_changed_flids || v_flids;
    v_changed_tags := v_changed_tags || array_fill(v_tag, array[cardinality(v_flids)]);
  end loop;
  return (
    select coalesce(jsonb_object_agg(d.flid, d.tags), '{}')
    from (select u.flid, jsonb_agg(u.tag) as tags from unnest(v_changed_flids, v_changed_tags) u(flid, tag) group by u.flid) d);
end
$fn$;

comment on function flight.replace_sets(flight.transition[]) is 'Replaces the sets of flights; returns {FLID: [tags of the sets that changed]}';
