-- Takes marks that are due into hand, in fair order: those tried least first, so that rows that always fail never fill the batch
-- (implementation.md 6.1). It writes, and must commit before the mailbox is told: attempts grow, the next try moves away by the ladder,
-- and the row is in this leader's hand, which keeps a replay off it until it is settled (the gate of implementation.md 9.1).
--   * A mark that was never tried does not wait for a clock that was set back since to come to it again.
--   * A mark older than R is tried every round, whatever its back-off.
--   * A claim that was never settled, by a leader that died, is simply due again after its back-off.
--   * Shadow mode claims nothing; the intents stay.
-- Reads:  core.setting, inbox.proc_state
-- Writes: inbox.proc_state
-- Locks:  LEADER for key share, the messages' rows (locked ones are left for the next round)
-- Raises: MX010 stale leader epoch
create or replace function inbox.backfill_claim(p_epoch bigint, p_limit integer)
returns table (msg_id bigint, marker text)
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_setting core.setting;
begin
  perform core.require_epoch(p_epoch);
  select * into strict v_setting from core.setting;
  if v_setting.pipeline_shadow then
    return;
  end if;
  v_now := core.now();
  return query
  with due as materialized (
    select m.msg_id
    from inbox.proc_state m
    where m.state in ('SUCCEEDED', 'SKIPPED', 'DEAD')
      and m.backfill_at is null
      and m.backfill_abandoned_at is null
      and (m.backfill_next_at is null or m.backfill_next_at <= v_now or m.backfill_attempts = 0 and m.finished_at > v_now
        or m.enqueued_at < v_now - v_setting.pipeline_mark_deadline)
    order by m.backfill_attempts, m.msg_id
    limit coalesce(p_limit, v_setting.pipeline_backfill_batch)
    for no key update skip locked),
  taken as (
    update inbox.proc_state m
    set backfill_attempts = m.backfill_attempts + 1,
        backfill_next_at = v_now + v_setting.pipeline_backfill_ladder[
          least(m.backfill_attempts + 1, cardinality(v_setting.pipeline_backfill_ladder))],
        backfill_claim_epoch = p_epoch,
        backfill_claimed_at = v_now
    from due
    where m.msg_id = due.msg_id
    returning m.msg_id, inbox.backfill_marker(m.state, v_setting) as marker)
  select t.msg_id, t.marker from taken t order by t.msg_id;
end
$fn$;

comment on function inbox.backfill_claim(bigint, integer) is 'Marks that are due, taken into hand; commit before the mailbox is told';
grant execute on function inbox.backfill_claim(bigint, integer) to msgx_app;
