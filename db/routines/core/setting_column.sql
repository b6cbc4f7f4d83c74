-- The column that a key means: msgx.… as the documentation writes it, or the column's own name; any case, blanks around it ignored.
-- Reads:  the catalogue
-- Writes: nothing
-- Locks:  nothing
-- Raises: 22023 no such key, with those that look like it
create or replace function core.setting_column(p_key text)
returns table (column_name text, key text, type text, description text)
language plpgsql
stable
set search_path to ''
as $fn$
declare
  v_near text;
begin
  return query
  select c.name, c.key, c.type, c.description
  from (
    select
      a.attname::text as name,
      split_part(split_part(d.says, ':', 1), ' ', 1) as key,
      format_type(a.atttypid, a.atttypmod) as type,
      substr(d.says, strpos(d.says, ': ') + 2) as description
    from pg_catalog.pg_attribute a
    cross join lateral (select col_description(a.attrelid, a.attnum) as says) d
    where a.attrelid = 'core.setting'::regclass and a.attnum > 0 and not a.attisdropped and a.attname <> 'only_row') c
  where lower(btrim(p_key)) in (c.key, c.name);
  if found then
    return;
  end if;

  -- Nearest: those that share most parts of the name with it.
  select string_agg(n.key, ', ' order by n.shared desc, n.key)
  into v_near
  from (
    select split_part(split_part(d.says, ':', 1), ' ', 1) as key, count(*) as shared
    from pg_catalog.pg_attribute a
    cross join lateral (select col_description(a.attrelid, a.attnum) as says) d
    cross join lateral regexp_split_to_table(lower(p_key), '[^a-z0-9]+') part
    where a.attrelid = 'core.setting'::regclass and a.attnum > 0 and not a.attisdropped and a.attname <> 'only_row'
      and length(part) > 2 and part not in ('msgx', 'pipeline') and strpos(split_part(d.says, ': ', 1), part) > 0
    group by 1
    order by 2 desc, 1
    limit 5) n;
  raise exception using
    errcode = 'invalid_parameter_value',
    message = format('there is no setting %s', coalesce(p_key, '(none)')),
    hint = coalesce('Did you mean ' || v_near || '? ', '') || 'core.setting_view (msgx setting list) shows them all.';
end
$fn$;

comment on function core.setting_column(text) is 'The column, key, type and description of a setting; 22023 if there is none';
