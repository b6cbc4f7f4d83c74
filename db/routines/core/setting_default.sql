-- The settings as a new installation has them, whatever they are now.
-- Reads:  the catalogue
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function core.setting_default()
returns core.setting
language plpgsql
stable
set search_path to ''
as $fn$
declare
  v_expressions text;
  v_setting core.setting;
begin
  select string_agg(format('%L, %s', a.attname, pg_get_expr(d.adbin, d.adrelid)), ', ' order by a.attnum)
  into v_expressions
  from pg_catalog.pg_attribute a
  join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = 'core.setting'::regclass and a.attgenerated = '' and not a.attisdropped;
  -- More than fifty pairs, so not one call: a function takes at most a hundred arguments.
  execute format('select (jsonb_populate_record(null::core.setting, jsonb_object(%L::text[]) || %s)).*', '{}', v_expressions)
  into v_setting;
  return v_setting;
end
$fn$;
