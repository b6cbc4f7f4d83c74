-- Makes room for staging messages anew: of these ids, the unfinished ones lose what was staged of them and are returned; the caller
-- copies their staging rows in the same transaction. An ended message is left alone, so a pump that was quicker keeps its ending.
-- Reads:  inbox.proc_state
-- Writes: inbox.stage_message, inbox.stage_record
-- Locks:  LEADER for key share, the messages' rows
-- Raises: MX010 stale leader epoch
create or replace function inbox.restage(p_epoch bigint, p_ids bigint[])
returns table (msg_id bigint)
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
#variable_conflict use_column
declare
  v_ids bigint[];
begin
  perform core.require_epoch(p_epoch);
  select coalesce(array_agg(l.msg_id), '{}') into v_ids
  from (
    select m.msg_id from inbox.proc_state m
    where m.msg_id = any (p_ids) and m.state in ('PENDING', 'FAILED')
    order by m.msg_id
    for no key update) l;
  delete from inbox.stage_record r where r.msg_id = any (v_ids);
  delete from inbox.stage_message s where s.msg_id = any (v_ids);
  return query select u.id from unnest(v_ids) u(id);
end
$fn$;

comment on function inbox.restage(bigint, bigint[]) is 'Clears the staging of unfinished messages and returns those to copy now';
grant execute on function inbox.restage(bigint, bigint[]) to msgx_app;
