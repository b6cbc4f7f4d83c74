-- Joins flat pieces of a JSON object in the order given, which jsonb would not keep. Null and empty pieces add nothing.
-- Reads:  nothing
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function core.json_concat(variadic p_pieces json[])
returns json
language plpgsql
immutable
set search_path to ''
as $fn$
begin
  return (
    select ('{' || coalesce(string_agg(substr(p.piece::text, 2, length(p.piece::text) - 2), ',' order by p.ordinality), '') || '}')::json
    from unnest(p_pieces) with ordinality p(piece, ordinality)
    where p.piece is not null and p.piece::text <> '{}');
end
$fn$;

comment on function core.json_concat(json[]) is 'One JSON object out of several, keys in the order given';
