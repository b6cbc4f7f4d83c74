-- Keeps that SRVT or VIPF occurred and what stood in it; nothing reads it for a decision (implementation.md 11.3).
-- Reads:  nothing
-- Writes: flight.flight_section
-- Locks:  the rows replaced
-- Raises: nothing
create or replace function flight.save_sections(p_records flight.incoming[], p_message_id bigint, p_now timestamptz)
returns void
language sql
volatile
set search_path to ''
as $fn$
  delete from flight.flight_section s
  using unnest(p_records) r
  where s.flid = r.flid and r.sections ? s.section;

  insert into flight.flight_section (flid, section, ordinal, content, message_id, seen_at)
  select r.flid, s.key, c.ordinality, c.content, p_message_id, p_now
  from unnest(p_records) r
  cross join lateral jsonb_each(r.sections) s
  cross join lateral jsonb_array_elements_text(s.value) with ordinality c(content, ordinality);
$fn$;

comment on function flight.save_sections(flight.incoming[], bigint, timestamptz) is 'Replaces the raw SRVT and VIPF sections that came with a message';
