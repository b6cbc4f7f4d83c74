-- An operator confirms that messages will not be processed (implementation.md 5.4): unfinished ones end SKIPPED with who and why, and are
-- owed their mark as any other. All of the ids, or none. There is no faster way past a backlog. Returns how many.
-- Reads:  inbox.proc_state
-- Writes: through inbox.finish_message
-- Locks:  PIPELINE (so that none of them is being processed; at most 15 seconds), the messages' rows
-- Raises: MX012 no such message; MX013 it ended already; 22023 no reason; 55P03 the pump did not pause
create or replace function inbox.skip(p_ids bigint[], p_reason text)
returns integer
language plpgsql
volatile
security definer
set search_path to ''
set lock_timeout to '15s'
as $fn$
declare
  v_now constant timestamptz := core.now();
  v_reason text := format('skipped by %s: %s', session_user, left(btrim(p_reason), 1900));
  v_bad bigint[];
  v_id bigint;
  v_count integer := 0;
begin
  if btrim(coalesce(p_reason, '')) = '' then
    raise exception using
      errcode = 'invalid_parameter_value',
      message = 'messages are not skipped without a reason',
      hint = 'Say who decided it and why: it stays with each of them.';
  end if;
  perform from core.pipeline_lock l where l.name = 'PIPELINE' for update;
  v_bad := array(select u.id from unnest(p_ids) u(id) where not exists (select from inbox.proc_state m where m.msg_id = u.id));
  if v_bad <> '{}' then
    raise exception using
      errcode = 'MX012',
      message = format('there is no message %s', core.id_list(v_bad)),
      hint = 'Nothing was changed. A message must be taken in before it can be skipped.';
  end if;
  perform from inbox.proc_state m where m.msg_id = any (p_ids) order by m.msg_id for update;
  v_bad := array(select m.msg_id from inbox.proc_state m where m.msg_id = any (p_ids) and m.state not in ('PENDING', 'FAILED'));
  if v_bad <> '{}' then
    raise exception using
      errcode = 'MX013',
      message = format('message %s ended already', core.id_list(v_bad)),
      hint = 'Nothing was changed. Only PENDING and FAILED messages can be skipped.';
  end if;
  for v_id in select distinct u.id from unnest(p_ids) u(id) order by u.id loop
    perform inbox.finish_message(v_id, 'SKIPPED', null, v_reason, v_now);
    v_count := v_count + 1;
  end loop;
  return v_count;
end
$fn$;

comment on function inbox.skip(bigint[], text) is 'Ends unfinished messages as SKIPPED, by an operator''s word; returns how many';
grant execute on function inbox.skip(bigint[], text) to msgx_operator;
