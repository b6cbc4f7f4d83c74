-- The mark that the mailbox row of an ended message gets; null for one that has not ended.
-- Reads:  nothing
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function inbox.backfill_marker(p_state text, p_setting core.setting)
returns text
language sql
immutable
set search_path to ''
as $fn$
  select case p_state
    when 'SUCCEEDED' then p_setting.mailbox_marker_succeeded
    when 'SKIPPED' then p_setting.mailbox_marker_skipped
    when 'DEAD' then p_setting.mailbox_marker_dead
  end
$fn$;

comment on function inbox.backfill_marker(text, core.setting) is 'The mark of an ended message';
grant execute on function inbox.backfill_marker(text, core.setting) to msgx_app, msgx_operator, msgx_reader;
