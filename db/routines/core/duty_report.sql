-- Notes that a duty of the supervisor ran, and whether it succeeded, for msgx status and for health checks from elsewhere.
-- Reads:  core.duty
-- Writes: core.duty
-- Locks:  the duty's row
-- Raises: MX010 stale leader epoch
create or replace function core.duty_report(p_epoch bigint, p_duty text, p_ok boolean, p_detail text)
returns void
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_now constant timestamptz := core.now();
begin
  perform core.require_epoch(p_epoch);
  insert into core.duty as d (duty, epoch, last_run_at, last_success_at, failures, detail)
  values (p_duty, p_epoch, v_now, case when p_ok then v_now end, case when p_ok then 0 else 1 end, left(p_detail, 2000))
  on conflict (duty) do update
  set epoch = excluded.epoch,
      last_run_at = excluded.last_run_at,
      last_success_at = coalesce(excluded.last_success_at, d.last_success_at),
      failures = case when p_ok then 0 else d.failures + 1 end,
      detail = excluded.detail;
end
$fn$;

comment on function core.duty_report(bigint, text, boolean, text) is 'Notes a run of a duty: when, with what success, and what there is to say';
grant execute on function core.duty_report(bigint, text, boolean, text) to msgx_app;
