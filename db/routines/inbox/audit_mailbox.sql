-- Compares what the mailbox shows with what was taken in, and tells a person where the promise behind the watermark is broken (design
-- section 4). It decides nothing else: no row is taken in, W does not move.
--   * The greatest id fell below W: ids may be given out a second time, and a row that gets one of them would never be read. An empty
--     mailbox is no sign of that; its owner may clear what is marked.
--   * An id at or below W (and above where seeding stopped) that was never taken in.
-- Returns how many findings there were. Each is told once; a repeat is counted on its alert.
-- Reads:  inbox.inbox_cursor, inbox.proc_state, inbox.hole
-- Writes: core.alert
-- Locks:  LEADER for key share
-- Raises: MX010 stale leader epoch
create or replace function inbox.audit_mailbox(p_epoch bigint, p_min bigint, p_max bigint, p_ids bigint[])
returns integer
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_cursor inbox.inbox_cursor;
  v_reused bigint[];
  v_findings integer := 0;
begin
  perform core.require_epoch(p_epoch);
  select * into strict v_cursor from inbox.inbox_cursor c;

  if p_max < v_cursor.watermark then
    perform core.raise_alert(
      'MAILBOX_ID_REUSE',
      format('The mailbox''s ids (%s to %s) end below the watermark %s: its newest rows were cleared, or it gives ids out again, and then new '
             'rows would not be read. Ask the mailbox owner whether AUTO_INCREMENT was set back.', p_min, p_max, v_cursor.watermark),
      null,
      'MAILBOX_ID_REUSE:below ' || v_cursor.watermark);
    v_findings := 1;
  end if;

  v_reused := array(
    select u.id from unnest(p_ids) u(id)
    where u.id <= v_cursor.watermark and u.id > coalesce(v_cursor.seeded_to, 0)
      and not exists (select from inbox.proc_state m where m.msg_id = u.id));
  if v_reused <> '{}' then
    perform inbox.alert_id_reuse(v_reused, v_cursor.watermark);
  end if;
  return v_findings + cardinality(v_reused);
end
$fn$;

comment on function inbox.audit_mailbox(bigint, bigint, bigint, bigint[]) is
  'Alerts where the mailbox holds ids that the watermark has passed without them; returns how many findings';
grant execute on function inbox.audit_mailbox(bigint, bigint, bigint, bigint[]) to msgx_app;
