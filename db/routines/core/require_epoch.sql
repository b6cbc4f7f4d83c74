-- Lets a writer act only while its leader still leads. The key-share lock is held to the end of the caller's transaction: it lets
-- a renewal pass (an update of no key) and makes a take-over wait (select for update), so a deposed leader commits nothing more.
-- Reads:  core.pipeline_lock
-- Writes: nothing
-- Locks:  core.pipeline_lock LEADER, for key share
-- Raises: MX010 stale leader epoch
create or replace function core.require_epoch(p_epoch bigint)
returns void
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
begin
  perform from core.pipeline_lock l where l.name = 'LEADER' and l.epoch = p_epoch for key share;
  if not found then
    raise exception using
      errcode = 'MX010',
      message = format('leader epoch %s is over', coalesce(p_epoch::text, '(none)')),
      hint = 'Another supervisor leads now; stop what you do under this epoch and stand by for the lease.';
  end if;
end
$fn$;

comment on function core.require_epoch(bigint) is 'MX010 unless p_epoch is the current leader''s';
grant execute on function core.require_epoch(bigint) to msgx_app;
