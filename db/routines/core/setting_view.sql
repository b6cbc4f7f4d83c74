-- Every setting with its key, its value as core.setting_set takes it, the default, and what it is for. Key and description are the
-- column's COMMENT, "msgx.key: text", so that there is one place to write them.
-- Reads:  core.setting, the catalogue
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace view core.setting_view as
select
  split_part(split_part(c.says, ':', 1), ' ', 1) as key,
  v.column_name,
  v.value,
  d.value as default_value,
  substr(c.says, strpos(c.says, ': ') + 2) as description
from core.setting s
cross join lateral core.setting_text(s) with ordinality v(column_name, value, place)
join core.setting_text(core.setting_default()) d on d.column_name = v.column_name
join pg_catalog.pg_attribute a on a.attrelid = 'core.setting'::regclass and a.attname = v.column_name
cross join lateral (select pg_catalog.col_description(a.attrelid, a.attnum) as says) c
order by v.place;

comment on view core.setting_view is 'Every setting: key, column, value, default, what it is for';
grant select on core.setting_view to msgx_app, msgx_operator, msgx_reader;
