-- Sets the watermark of a new installation, once, by an operator's word (implementation.md 4.3): min reads all that is there, zero starts
-- at 0 by the hole rule, max leaves out all that is visible now, id leaves out everything up to that id. Returns the watermark.
-- An id beyond the mailbox's greatest is refused: rows that come later would get ids at or below W and never be read.
-- Reads:  inbox.inbox_cursor, inbox.proc_state
-- Writes: inbox.inbox_cursor
-- Locks:  the row of inbox.inbox_cursor
-- Raises: MX011 there is a watermark or a message already; 22023 no such way, or an id that cannot be
create or replace function inbox.seed(p_how text, p_value bigint, p_min bigint, p_max bigint)
returns bigint
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_now constant timestamptz := core.now();
  v_cursor inbox.inbox_cursor;
  v_watermark bigint := case p_how
    when 'min' then coalesce(p_min - 1, 0)
    when 'zero' then 0
    when 'max' then coalesce(p_max, 0)
    when 'id' then p_value
  end;
begin
  if v_watermark is null or v_watermark < 0 then
    raise exception using
      errcode = 'invalid_parameter_value',
      message = format('cannot seed by %L with the value %s', p_how, coalesce(p_value::text, '(none)')),
      hint = 'Seed by min, zero, max, or an id of 0 or more.';
  end if;
  if p_how = 'id' and p_value > p_max then
    raise exception using
      errcode = 'invalid_parameter_value',
      message = format('cannot seed at %s: the mailbox ends at %s', p_value, p_max),
      hint = 'New rows would get ids at or below the watermark and never be read. Seed by max to leave out all that is there.';
  end if;

  select * into strict v_cursor from inbox.inbox_cursor c for update;
  if v_cursor.watermark > 0 or v_cursor.seeded_at is not null then
    raise exception using
      errcode = 'MX011',
      message = format('the watermark is %s already%s', v_cursor.watermark,
        case when v_cursor.seeded_at is null then '' else format(', seeded by %s at %s', v_cursor.seeded_how, v_cursor.seeded_at) end),
      hint = 'Seeding is for a new installation, once. Messages are never left out afterwards by moving the watermark; use inbox.skip.';
  end if;
  if exists (select from inbox.proc_state) then
    raise exception using
      errcode = 'MX011',
      message = 'messages were taken in already, so the watermark cannot be seeded',
      hint = 'Seeding is for a new installation, once. Start the supervisor: it reads from 0 by the hole rule.';
  end if;

  update inbox.inbox_cursor c
  set watermark = v_watermark,
      hole_since = null,
      hole_first_id = null,
      seeded_at = v_now,
      seeded_how = case p_how when 'id' then p_value::text else p_how end,
      seeded_to = v_watermark,
      advanced_at = v_now;
  return v_watermark;
end
$fn$;

comment on function inbox.seed(text, bigint, bigint, bigint) is 'Sets the watermark of a new installation once; returns it';
grant execute on function inbox.seed(text, bigint, bigint, bigint) to msgx_operator;
