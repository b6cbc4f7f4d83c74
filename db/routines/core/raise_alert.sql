-- Tells a person, in the transaction of what it is about. An alert with a key is raised once; later ones are counted on it.
-- Reads:  nothing
-- Writes: core.alert
-- Locks:  core.alert, the row of the same key
-- Raises: nothing
create or replace function core.raise_alert(p_code text, p_detail text, p_message_id bigint default null, p_dedupe_key text default null)
returns void
language sql
volatile
security definer
set search_path to ''
as $fn$
  insert into core.alert as a (code, detail, raised_at, message_id, dedupe_key)
  values (p_code, p_detail, core.now(), p_message_id, p_dedupe_key)
  on conflict (dedupe_key) do update set repeats = a.repeats + 1
$fn$;

comment on function core.raise_alert(text, text, bigint, text) is 'Raises an alert, or counts a repeat of the one with this key';
