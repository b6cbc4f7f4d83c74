-- All values of a row of core.setting as people write them and as core.setting_set reads them back: durations in short, ladders as
-- "1s 5s 30s", lists with commas.
-- Reads:  the catalogue
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function core.setting_text(p_setting core.setting)
returns table (column_name text, value text)
language sql
stable
set search_path to ''
as $fn$
  select
    a.attname::text,
    case a.atttypid
      when 'interval'::regtype then core.duration((v.value #>> '{}')::interval)
      when 'interval[]'::regtype then
        (select coalesce(string_agg(core.duration(e.value::interval), ' ' order by e.ordinality), '')
         from jsonb_array_elements_text(v.value) with ordinality e)
      when 'text[]'::regtype then
        (select coalesce(string_agg(e.value, ', ' order by e.ordinality), '') from jsonb_array_elements_text(v.value) with ordinality e)
      when 'time'::regtype then regexp_replace(v.value #>> '{}', '^(\d\d:\d\d):00$', '\1')
      else v.value #>> '{}'
    end
  from pg_catalog.pg_attribute a
  join jsonb_each(to_jsonb(p_setting)) v on v.key = a.attname
  where a.attrelid = 'core.setting'::regclass and a.attnum > 0 and not a.attisdropped and a.attname <> 'only_row'
  order by a.attnum
$fn$;

comment on function core.setting_text(core.setting) is 'The values of a row of settings, as text that core.setting_set reads back';
grant execute on function core.setting_text(core.setting) to msgx_app, msgx_operator, msgx_reader;
