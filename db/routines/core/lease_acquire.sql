-- Asks for leadership. The lease is the row LEADER of core.pipeline_lock, judged by the database's clock alone.
--   * While another holder's lease runs, the answer is "not acquired", from a plain read: a standby asks often and waits for nobody.
--   * Otherwise the row is locked FOR UPDATE. Every writing routine of the old leader holds it FOR KEY SHARE until its transaction ends
--     (core.require_epoch), so the lock is granted when the last of them is over, and only then a new epoch begins: nothing that an
--     old leader does can come after the first act of the new one.
--   * A transaction of the old leader that does not end is waited for two seconds; the answer is then "not acquired", and the standby
--     asks again. idle_in_transaction_session_timeout ends a frozen one.
--   * The same holder may ask again at any time and begins a new epoch: its former answer was lost, or it is another start of it.
--     A holder's name must therefore differ between any two processes.
-- Reads:  core.pipeline_lock
-- Writes: core.pipeline_lock
-- Locks:  core.pipeline_lock LEADER, for update, at most two seconds
-- Raises: 22023 no holder, or a time to live that is not positive
create or replace function core.lease_acquire(p_holder text, p_ttl interval)
returns table (epoch bigint, holder text, expires_at timestamptz, acquired boolean)
language plpgsql
volatile
security definer
set search_path to ''
set lock_timeout to '2s'
as $fn$
declare
  v_lease core.pipeline_lock;
  v_now timestamptz;
begin
  if coalesce(p_holder, '') = '' or p_ttl is null or p_ttl <= interval '0' then
    raise exception using
      errcode = 'invalid_parameter_value',
      message = format('a lease for %L over %s cannot be given', p_holder, coalesce(p_ttl::text, 'no time')),
      hint = 'Name the holder (host, process and start) and a positive time to live.';
  end if;

  select * into strict v_lease from core.pipeline_lock l where l.name = 'LEADER';
  if v_lease.holder is distinct from p_holder and v_lease.expires_at > core.now() then
    return query select v_lease.epoch, v_lease.holder, v_lease.expires_at, false;
    return;
  end if;

  begin
    select * into strict v_lease from core.pipeline_lock l where l.name = 'LEADER' for update;
  exception
    when lock_not_available then
      return query select l.epoch, l.holder, l.expires_at, false from core.pipeline_lock l where l.name = 'LEADER';
      return;
  end;

  v_now := core.now();  -- after the wait: the holder may have renewed, or another standby been quicker
  if v_lease.holder is distinct from p_holder and v_lease.expires_at > v_now then
    return query select v_lease.epoch, v_lease.holder, v_lease.expires_at, false;
    return;
  end if;

  update core.pipeline_lock l
  set epoch = l.epoch + 1, holder = p_holder, acquired_at = v_now, renewed_at = v_now, expires_at = v_now + p_ttl
  where l.name = 'LEADER';
  return query select l.epoch, l.holder, l.expires_at, true from core.pipeline_lock l where l.name = 'LEADER';
end
$fn$;

comment on function core.lease_acquire(text, interval) is 'Asks for leadership; acquired says whether it was given, the rest who leads now';
grant execute on function core.lease_acquire(text, interval) to msgx_app;
