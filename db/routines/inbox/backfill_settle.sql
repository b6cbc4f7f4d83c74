-- Writes down what became of marks (implementation.md 6.2). Each outcome has one end:
--   WRITTEN, ALREADY   confirmed; a fact of the mailbox, so it is noted whatever the message's state is by now.
--   MISSING_ROW        given up at once, with an alert: the mailbox row went after it was taken in.
--   TRANSIENT          tried again by the ladder; once the message is R old, given up as TRANSIENT_DEADLINE, with an alert.
-- Many tries decide nothing; they raise BACKFILL_ATTEMPTS once a day. Given up is not confirmed: backfill_at stays null. Returns how many
-- rows changed.
-- Reads:  core.setting, inbox.proc_state
-- Writes: inbox.proc_state, core.alert
-- Locks:  LEADER for key share, the messages' rows
-- Raises: MX010 stale leader epoch; 22023 arrays of different length, or an outcome that is none
create or replace function inbox.backfill_settle(p_epoch bigint, p_msg_ids bigint[], p_outcomes text[], p_errors text[])
returns integer
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_now timestamptz;
  v_setting core.setting;
  v_count integer;
  v_changed integer;
  v_missing bigint[];
  v_late bigint[];
  v_often bigint[];
begin
  perform core.require_epoch(p_epoch);
  if cardinality(p_msg_ids) <> cardinality(p_outcomes) or cardinality(p_msg_ids) <> cardinality(p_errors)
    or exists (select from unnest(p_outcomes) o where o is null or o not in ('WRITTEN', 'ALREADY', 'MISSING_ROW', 'TRANSIENT')) then
    raise exception using
      errcode = 'invalid_parameter_value',
      message = 'marks cannot be settled: an outcome is unknown, or there are not as many as messages',
      hint = 'Give each message one of WRITTEN, ALREADY, MISSING_ROW, TRANSIENT.';
  end if;
  v_now := core.now();
  select * into strict v_setting from core.setting;
  -- In one order, as everybody who locks several messages does.
  perform from inbox.proc_state m where m.msg_id = any (p_msg_ids) order by m.msg_id for no key update;

  update inbox.proc_state m
  set backfill_at = v_now,
      backfill_outcome = u.outcome,
      backfill_next_at = null,
      backfill_error = null,
      backfill_claim_epoch = null,
      backfill_claimed_at = null,
      backfill_abandoned_at = null,
      backfill_abandoned_reason = null,
      updated_at = v_now
  from unnest(p_msg_ids, p_outcomes) u(msg_id, outcome)
  where m.msg_id = u.msg_id and u.outcome in ('WRITTEN', 'ALREADY') and m.backfill_at is null and m.state <> 'ARCHIVED';
  get diagnostics v_count = row_count;

  with failed as (
    update inbox.proc_state m
    set backfill_error = coalesce(left(u.error, 2000), lower(u.outcome)),
        backfill_claim_epoch = null,
        backfill_claimed_at = null,
        backfill_abandoned_at = case when g.reason is not null then v_now end,
        backfill_abandoned_reason = g.reason,
        backfill_next_at = case
          when g.reason is null then v_now + v_setting.pipeline_backfill_ladder[
            greatest(1, least(m.backfill_attempts, cardinality(v_setting.pipeline_backfill_ladder)))]
        end,
        updated_at = case when g.reason is not null then v_now else m.updated_at end
    from unnest(p_msg_ids, p_outcomes, p_errors) u(msg_id, outcome, error)
    join inbox.proc_state o on o.msg_id = u.msg_id
    cross join lateral (
      select case
        when u.outcome = 'MISSING_ROW' then 'MISSING_ROW'
        when o.enqueued_at <= v_now - v_setting.pipeline_mark_deadline then 'TRANSIENT_DEADLINE'
      end as reason) g
    where m.msg_id = u.msg_id and u.outcome in ('MISSING_ROW', 'TRANSIENT')
      and m.state in ('SUCCEEDED', 'SKIPPED', 'DEAD') and m.backfill_at is null and m.backfill_abandoned_at is null
    returning m.msg_id, g.reason, m.backfill_attempts)
  select
    count(*)::integer,
    array_agg(f.msg_id) filter (where f.reason = 'MISSING_ROW'),
    array_agg(f.msg_id) filter (where f.reason = 'TRANSIENT_DEADLINE'),
    array_agg(f.msg_id) filter (where f.reason is null and f.backfill_attempts >= v_setting.pipeline_backfill_max_attempts)
  into v_changed, v_missing, v_late, v_often
  from failed f;

  if v_missing is not null then
    perform core.raise_alert(
      'MISSING_ROW',
      format('No mark for %s: the mailbox row was deleted after we took it in. Nothing is tried again; reconcile with the mailbox owner, then '
             'msgx backfill acknowledge.', core.id_list(v_missing)),
      (select min(u.id) from unnest(v_missing) u(id)));
  end if;
  if v_late is not null then
    perform core.raise_alert(
      'TRANSIENT_DEADLINE',
      format('No mark for %s: the mailbox could not be written until the deadline of %s was over. Mend it, then msgx backfill reopen; or '
             'reconcile and msgx backfill acknowledge.', core.id_list(v_late), core.duration(v_setting.pipeline_mark_deadline)),
      (select min(u.id) from unnest(v_late) u(id)));
  end if;
  if v_often is not null then
    perform core.raise_alert(
      'BACKFILL_ATTEMPTS',
      format('Marks were tried %s times and more without success, among them %s. They are tried on until their deadline of %s; look at the '
             'mailbox.', v_setting.pipeline_backfill_max_attempts, core.id_list(v_often), core.duration(v_setting.pipeline_mark_deadline)),
      (select min(u.id) from unnest(v_often) u(id)),
      'BACKFILL_ATTEMPTS:' || to_char(v_now at time zone v_setting.airport_timezone, 'YYYY-MM-DD'));
  end if;
  return v_count + v_changed;
end
$fn$;

comment on function inbox.backfill_settle(bigint, bigint[], text[], text[]) is 'Writes down what became of marks; returns how many rows changed';
grant execute on function inbox.backfill_settle(bigint, bigint[], text[], text[]) to msgx_app;
