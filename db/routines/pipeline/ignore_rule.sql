-- The ignore rule that a message meets, as it stands in the setting; null if none (implementation.md 2). Case does not matter.
-- Reads:  nothing
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function pipeline.ignore_rule(p_type text, p_styp text, p_rules text[])
returns text
language plpgsql
immutable
set search_path to ''
as $fn$
begin
  return (
    select r.rule
    from unnest(p_rules) with ordinality r(rule, place)
    where upper(r.rule) in (upper(p_type || '-' || p_styp), upper(p_type) || '-*')
    order by r.place
    limit 1);
end
$fn$;

comment on function pipeline.ignore_rule(text, text, text[]) is 'First ignore rule (TYPE-STYP or TYPE-*) that a message meets';
