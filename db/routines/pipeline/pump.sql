-- The pump: processes messages in the order of their ids, committing every few, until its budget is used or nothing can be done now.
-- Everything happens here, with no round trip for a message. A procedure that commits can have neither SET nor SECURITY DEFINER, so it
-- holds no logic: each transaction is one call of pipeline.step, and the traces of plans follow in a transaction of their own.
-- Call it outside a transaction: call pipeline.pump(epoch, max_messages, max_ms). It answers with
--   p_processed       messages taken to their end or to their next try
--   p_stop            IDLE, BUDGET, HEAD_UNSTAGED, HEAD_BACKOFF or BEYOND_WATERMARK (see pipeline.step)
--   p_head, p_until   the message it stopped at, and until when that one waits
--   p_trace_failures  plan traces that could not be written
-- Reads:  nothing
-- Writes: through pipeline.step and ledger.append_trace
-- Locks:  as pipeline.step, for one batch at a time
-- Raises: MX010
create or replace procedure pipeline.pump(
  p_epoch bigint, p_max_messages integer, p_max_ms integer,
  inout p_processed integer default null, inout p_stop text default null, inout p_head bigint default null,
  inout p_until timestamptz default null, inout p_trace_failures integer default null)
language plpgsql
as $fn$
declare
  v_deadline constant timestamptz := clock_timestamp() + make_interval(secs => p_max_ms / 1000.0);
  v_step record;
begin
  p_processed := 0;
  p_trace_failures := 0;
  loop
    select * into v_step from pipeline.step(p_epoch, p_max_messages - p_processed);
    commit;
    p_processed := p_processed + v_step.processed;
    if v_step.trace is not null then
      p_trace_failures := p_trace_failures + ledger.append_trace(p_epoch, v_step.trace);
      commit;
    end if;
    p_stop := coalesce(
      v_step.stopped, case when p_processed >= p_max_messages or clock_timestamp() >= v_deadline then 'BUDGET' end);
    exit when p_stop is not null;
  end loop;
  p_head := v_step.head;
  p_until := v_step.until;
end
$fn$;

comment on procedure pipeline.pump(bigint, integer, integer, integer, text, bigint, timestamptz, integer) is
  'Processes messages in order, committing every few, and says why it stopped';
grant execute on procedure pipeline.pump(bigint, integer, integer, integer, text, bigint, timestamptz, integer) to msgx_app;
