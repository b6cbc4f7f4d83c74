-- Gives leadership back, so that a standby need not wait for the lease to run out. It ends the epoch too: a straggling thread of the
-- one who gave it back meets MX010. Without effect if somebody else leads by now.
-- Reads:  nothing
-- Writes: core.pipeline_lock
-- Locks:  core.pipeline_lock LEADER, for no key update
-- Raises: nothing
create or replace function core.lease_release(p_epoch bigint)
returns void
language sql
volatile
security definer
set search_path to ''
as $fn$
  update core.pipeline_lock
  set epoch = epoch + 1, holder = null, expires_at = null
  where name = 'LEADER' and epoch = p_epoch
$fn$;

comment on function core.lease_release(bigint) is 'Gives the lease of this epoch back';
grant execute on function core.lease_release(bigint) to msgx_app;
