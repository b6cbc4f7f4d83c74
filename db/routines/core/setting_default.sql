-- The settings as a new installation has them, whatever they are now: every column's default, evaluated.
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
  v_defaults text;
  v_generated text;
  v_setting core.setting;
begin
  select
    string_agg(format('%s as %I', e.says, e.name), ', ') filter (where not e.generated),
    string_agg(format(', %s as %I', e.says, e.name), '') filter (where e.generated)
  into v_defaults, v_generated
  from (
    select a.attname as name, pg_get_expr(d.adbin, d.adrelid) as says, a.attgenerated <> '' as generated
    from pg_catalog.pg_attribute a
    join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = 'core.setting'::regclass and not a.attisdropped) e;
  execute format(
    'select r.* from (select d.*%s from (select %s) d) s cross join lateral jsonb_populate_record(null::core.setting, to_jsonb(s)) r', v_generated, v_defaults)
  into v_setting;
  return v_setting;
end
$fn$;

comment on function core.setting_default() is 'The settings as a new installation has them';
grant execute on function core.setting_default() to msgx_app, msgx_operator, msgx_reader;
