-- The newest messages, up to the watermark, whose mark was confirmed: their rows in the mailbox must bear one. The audit asks for it, to
-- see that they are the same rows still. Only among the last thousand messages, so that it costs the same where nothing is marked.
-- Reads:  inbox.inbox_cursor, inbox.proc_state
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function inbox.marked(p_limit integer)
returns table (msg_id bigint)
language sql
volatile
security definer
set search_path to ''
as $fn$
  select n.msg_id
  from (
    select m.msg_id, m.backfill_at
    from inbox.proc_state m
    where m.msg_id <= (select c.watermark from inbox.inbox_cursor c)
    order by m.msg_id desc
    limit 1000) n
  where n.backfill_at is not null
  order by n.msg_id desc
  limit p_limit
$fn$;

comment on function inbox.marked(integer) is 'The newest messages whose mark was confirmed';
grant execute on function inbox.marked(integer) to msgx_app;
