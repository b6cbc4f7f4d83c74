-- CHANGED of a notice: the tags whose value differs from the version before, in catalogue order (design section 11, point 3). A new life
-- has no version before it. Only what the message names can differ, unless the rest was wiped.
-- Reads:  nothing
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function flight.changed_tags(
  p_step flight.transition, p_set_changes jsonb, p_mafl_changed boolean, p_order text[])
returns text[]
language plpgsql
stable
set search_path to ''
set plan_cache_mode to force_generic_plan
as $fn$
declare
  v_after constant jsonb := to_jsonb(p_step.after);
  v_before constant jsonb := case when p_step.fresh then '{}' else to_jsonb(p_step.before) end;
begin
  return array(
    select c.tag
    from (
      select upper(k.key)
      from (
        select jsonb_object_keys(p_step.scalars) where not p_step.wiped
        union all
        select jsonb_object_keys(v_after - array['flid', 'state', 'state_version', 'updated_at', 'operation_day',
                                                 'last_message_id', 'created_at', 'extra']) where p_step.wiped) k(key)
      where v_after ->> k.key is distinct from v_before ->> k.key
      union all
      select k.key
      from jsonb_object_keys((v_after -> 'extra') || coalesce(v_before -> 'extra', '{}')) k(key)
      where v_after -> 'extra' ->> k.key is distinct from v_before -> 'extra' ->> k.key
      union all
      select t.tag from jsonb_array_elements_text(p_set_changes) t(tag) where not p_step.fresh
      union all
      select e.key from jsonb_each(p_step.sets) e where p_step.fresh and e.value <> '[]'
      union all
      select 'MAFL' where p_mafl_changed
    ) c(tag)
    order by array_position(p_order, c.tag), c.tag);
end
$fn$;

comment on function flight.changed_tags(flight.transition, jsonb, boolean, text[]) is 'Tags whose value a step changes, in catalogue order';
