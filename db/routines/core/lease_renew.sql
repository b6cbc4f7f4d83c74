-- Keeps the leader's lease. An update of no key column: it does not wait for the leader's own running transactions, which hold the row
-- FOR KEY SHARE. A lease that ran out but that nobody took is the holder's still, and is kept.
-- Reads:  nothing
-- Writes: core.pipeline_lock
-- Locks:  core.pipeline_lock LEADER, for no key update
-- Raises: MX010 stale leader epoch; 22023 a time to live that is not positive
create or replace function core.lease_renew(p_epoch bigint, p_ttl interval)
returns timestamptz
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_now constant timestamptz := core.now();
  v_expires_at timestamptz;
begin
  if p_ttl is null or p_ttl <= interval '0' then
    raise exception using
      errcode = 'invalid_parameter_value',
      message = format('a lease cannot be renewed over %s', coalesce(p_ttl::text, 'no time')),
      hint = 'Give a positive time to live.';
  end if;
  update core.pipeline_lock l
  set renewed_at = v_now, expires_at = v_now + p_ttl
  where l.name = 'LEADER' and l.epoch = p_epoch and l.holder is not null
  returning l.expires_at into v_expires_at;
  if not found then
    raise exception using
      errcode = 'MX010',
      message = format('leader epoch %s is over and cannot be renewed', coalesce(p_epoch::text, '(none)')),
      hint = 'Another supervisor leads now, or the lease was given back; stop what you do under this epoch and stand by for the lease.';
  end if;
  return v_expires_at;
end
$fn$;

comment on function core.lease_renew(bigint, interval) is 'Keeps the lease of this epoch; MX010 if it is over';
grant execute on function core.lease_renew(bigint, interval) to msgx_app;
