-- Keeps that SRVT or VIPF occurred and what stood in it; nothing reads it for a decision (implementation.md 11.3). A new life leaves the
-- old one's behind.
-- Reads:  nothing
-- Writes: flight.flight_section
-- Locks:  the rows replaced
-- Raises: nothing
create or replace function flight.save_sections(p_steps flight.transition[], p_message_id bigint, p_now timestamptz)
returns void
language plpgsql
volatile
set search_path to ''
as $fn$
begin
  delete from flight.flight_section s
  using unnest(p_steps) u
  where s.flid = u.flid and (u.fresh or u.sections ? s.section);

  insert into flight.flight_section (flid, section, ordinal, content, message_id, seen_at)
  select u.flid, s.key, c.ordinality, c.content, p_message_id, p_now
  from unnest(p_steps) u
  cross join lateral jsonb_each(u.sections) s
  cross join lateral jsonb_array_elements_text(s.value) with ordinality c(content, ordinality);
end
$fn$;

comment on function flight.save_sections(flight.transition[], bigint, timestamptz) is 'Replaces the raw SRVT and VIPF sections that came with a message';
