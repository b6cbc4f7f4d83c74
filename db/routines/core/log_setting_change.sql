-- Trigger of core.setting: writes down who changed what, column by column, also where somebody changed the table by hand.
-- Reads:  the catalogue
-- Writes: core.setting_log
-- Locks:  nothing
-- Raises: nothing
create or replace function core.log_setting_change()
returns trigger
language plpgsql
volatile
set search_path to ''
as $fn$
begin
  insert into core.setting_log (changed_at, changed_by, key, old_value, new_value)
  select core.now(), session_user, n.column_name, o.value, n.value
  from core.setting_text(new) n
  join core.setting_text(old) o on o.column_name = n.column_name
  where o.value is distinct from n.value;
  return null;
end
$fn$;

comment on function core.log_setting_change() is 'Trigger: logs every change of a setting';

create or replace trigger setting_log
after update on core.setting
for each row execute function core.log_setting_change();
