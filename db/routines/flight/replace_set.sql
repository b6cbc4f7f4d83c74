-- Makes one set of many flights what the message says, element by element in its order (INV-14), and tells whose set really changed.
-- An unchanged set is not rewritten. Elements are never merged or deduplicated. One routine serves nine tables, hence the dynamic SQL.
-- Reads:  the set's detail table
-- Writes: the set's detail table
-- Locks:  the rows replaced
-- Raises: nothing
create or replace function flight.replace_set(p_tag text, p_flids bigint[], p_elements jsonb[])
returns bigint[]
language plpgsql
volatile
set search_path to ''
as $fn$
declare
  v_table constant text := flight.set_table(p_tag);
  v_is_route constant boolean := v_table = 'flight_route_point';
  v_kind constant jsonb := case when v_is_route then jsonb_build_object('route_kind', p_tag) else '{}' end;
  v_stored constant text := format('flight.%I t where t.flid = any ($1)', v_table)
    || case when v_is_route then format(' and t.route_kind = %L', p_tag) else '' end;
  v_incoming constant text := format(
    $q$ select r.*
        from unnest($1, $2) i(flid, elements)
        cross join lateral jsonb_array_elements(i.elements) with ordinality e(element, ordinal)
        cross join lateral jsonb_populate_record(
          null::flight.%I, e.element || $3 || jsonb_build_object('flid', i.flid, 'ordinal', e.ordinal)) r $q$, v_table);
  v_changed bigint[];
begin
  execute format(
    $q$ with incoming as materialized (%1$s), stored as materialized (select t.* from %2$s)
        select array_agg(distinct d.flid)
        from ((table incoming except all table stored) union all (table stored except all table incoming)) d $q$,
    v_incoming, v_stored)
  into v_changed
  using p_flids, p_elements, v_kind;

  if v_changed is not null then
    execute format('delete from %s', v_stored) using v_changed;
    execute format('insert into flight.%I select n.* from (%s) n where n.flid in (select unnest($4))', v_table, v_incoming)
    using p_flids, p_elements, v_kind, v_changed;
  end if;
  return coalesce(v_changed, '{}');
end
$fn$;

comment on function flight.replace_set(text, bigint[], jsonb[]) is 'Replaces a set of each flight as a whole; returns the flights whose set changed';
