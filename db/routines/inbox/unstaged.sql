-- Messages that the pump will want and that have no staging: of the HTTP entry, sent through again, or whose body could not be decoded
-- or read before. Only those whose next try is due, and only among the first thousand unfinished ones: nothing behind them is reached
-- any sooner, and a long backlog costs nothing.
-- Reads:  inbox.queue_head, inbox.inbox_cursor, inbox.proc_state, inbox.stage_message
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function inbox.unstaged(p_limit integer)
returns table (msg_id bigint)
language sql
volatile
security definer
set search_path to ''
as $fn$
  select h.msg_id
  from (
    select m.msg_id, m.next_attempt_at, m.updated_at
    from inbox.proc_state m
    where m.msg_id > (select q.finished_through from inbox.queue_head q)
      and m.msg_id <= (select c.watermark from inbox.inbox_cursor c)
      and m.state in ('PENDING', 'FAILED')
    order by m.msg_id
    limit 1000) h
  where (h.next_attempt_at is null or h.next_attempt_at <= (select core.now()) or h.updated_at > (select core.now()))  -- the clock was set back
    and not exists (select from inbox.stage_message s where s.msg_id = h.msg_id)
  order by h.msg_id
  limit p_limit
$fn$;

comment on function inbox.unstaged(integer) is 'Unfinished messages up to the watermark that are due and have no staging';
grant execute on function inbox.unstaged(integer) to msgx_app;
