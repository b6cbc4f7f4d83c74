-- One intake round: takes in the rows that one SELECT found beyond the watermark and moves the watermark over them (implementation.md
-- 4.1, design section 4).
--   * W goes over the contiguous part, W+1, W+2 …, and stops before the first missing id.
--   * An id is missing only while a later one is there. hole_since is when we first saw that; it belongs to hole_first_id, survives
--     restarts, and another hole starts its own clock. Adjacent missing ids are one hole.
--   * While the hole is younger than max-commit-delay nothing behind it is taken in: its row may still be an uncommitted insert.
--   * Older, it is passed over: W goes to just before the first row that is there, and inbox.hole remembers it. Rows behind it wait for
--     the next round, so a round never resolves more than one hole.
--   * received_at is kept for people to read; nothing is derived from it.
-- Returns what must be staged in this very transaction: the rows now at or below W that are unfinished and have no staging yet (a row
-- of the HTTP entry is among them when W reaches it). Without a row it still notes that the mailbox was read.
-- Reads:  core.setting, inbox.inbox_cursor, inbox.proc_state, inbox.stage_message
-- Writes: inbox.inbox_cursor, inbox.proc_state, inbox.hole, core.alert
-- Locks:  LEADER for key share, the row of inbox.inbox_cursor
-- Raises: MX010 stale leader epoch; 22023 arrays of different length, or an id that is none
create or replace function inbox.advance(p_epoch bigint, p_ids bigint[], p_received_at timestamptz[])
returns table (msg_id bigint)
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_cursor inbox.inbox_cursor;
  v_delay interval;
  v_watermark bigint;  -- the end of the contiguous part
  v_behind bigint;  -- first row behind the gap after it; null if there is none
  v_hole_first_id bigint;
  v_hole_since timestamptz;
  v_reused bigint[];
begin
  perform core.require_epoch(p_epoch);
  if cardinality(p_ids) <> cardinality(p_received_at) or 0 >= any (p_ids) or array_position(p_ids, null) is not null then
    raise exception using
      errcode = 'invalid_parameter_value',
      message = 'an intake round with ids that are not positive, or with receive times for other rows',
      hint = 'Give the ids of one SELECT and, in the same order, their receive times.';
  end if;

  select * into strict v_cursor from inbox.inbox_cursor c for no key update;
  v_now := core.now();
  select s.pipeline_max_commit_delay into strict v_delay from core.setting s;

  select coalesce(max(n.id) filter (where n.id - n.place = v_cursor.watermark), v_cursor.watermark)
  into v_watermark
  from (
    select i.id, row_number() over (order by i.id) as place
    from (select distinct u.id from unnest(p_ids) u(id) where u.id > v_cursor.watermark) i) n;
  select min(u.id) into v_behind from unnest(p_ids) u(id) where u.id > v_watermark;

  if v_behind is not null then
    v_hole_first_id := v_watermark + 1;
    v_hole_since := case when v_cursor.hole_first_id = v_hole_first_id then v_cursor.hole_since else v_now end;
  elsif v_cursor.hole_first_id = v_watermark + 1 then
    -- What stood behind the hole is not in sight; the hole is as old as it was.
    v_hole_first_id := v_cursor.hole_first_id;
    v_hole_since := v_cursor.hole_since;
  end if;

  -- Rows that were entered before (a second reading, the HTTP entry) are there already.
  insert into inbox.proc_state (msg_id, received_at, enqueued_at, updated_at)
  select u.id, min(p_received_at[u.place]), v_now, v_now
  from unnest(p_ids) with ordinality u(id, place)
  where u.id > v_cursor.watermark and u.id <= v_watermark
  group by u.id
  order by u.id
  on conflict (msg_id) do nothing;

  v_reused := array(
    select u.id from unnest(p_ids) u(id)
    where u.id <= v_cursor.watermark and u.id > coalesce(v_cursor.seeded_to, 0)
      and not exists (select from inbox.proc_state m where m.msg_id = u.id));
  if v_reused <> '{}' then
    perform inbox.alert_id_reuse(v_reused, v_cursor.watermark);
  end if;

  if v_behind is not null and v_watermark = v_cursor.watermark and v_now - v_hole_since >= v_delay then
    insert into inbox.hole (first_id, last_id, first_seen_at, released_at)
    values (v_hole_first_id, v_behind - 1, v_hole_since, v_now)
    on conflict (first_id) do update set last_id = excluded.last_id, first_seen_at = excluded.first_seen_at, released_at = excluded.released_at;
    v_watermark := v_behind - 1;
    v_hole_first_id := null;
    v_hole_since := null;
  end if;

  update inbox.inbox_cursor c
  set watermark = v_watermark,
      hole_since = v_hole_since,
      hole_first_id = v_hole_first_id,
      advanced_at = case when v_watermark > c.watermark then v_now else c.advanced_at end,
      read_at = v_now;

  return query
  select m.msg_id
  from inbox.proc_state m
  where m.msg_id > v_cursor.watermark and m.msg_id <= v_watermark and m.state in ('PENDING', 'FAILED')
    and not exists (select from inbox.stage_message s where s.msg_id = m.msg_id)
  order by m.msg_id;
end
$fn$;

comment on function inbox.advance(bigint, bigint[], timestamptz[]) is 'One intake round; returns the messages to stage in the same transaction';
grant execute on function inbox.advance(bigint, bigint[], timestamptz[]) to msgx_app;
