-- A set becomes what the message says, in its order; a set that is the same is not rewritten; whose changed is told (INV-14).
begin;
\ir ../../flights.psql
select plan(80);

create temp table kind (tag text, table_name text, kind text);
insert into kind
select t.tag, flight.set_table(t.tag), case when t.tag in ('ROUT', 'ERUT') then t.tag end
from unnest('{GTDT,CKDT,CLDT,CHDT,PSDT,CHOT,DELY,ABTM,ROUT,ERUT}'::text[]) t(tag);
select pg_temp.dnld(pg_temp.p(1), pg_temp.p(2));
create function pg_temp.written(p_kind kind) returns text
language plpgsql as $fn$
declare
  v_ids text;
begin
  execute format('select string_agg(t.ctid::text, '' '' order by t.flid, t.ordinal) from flight.%I t %s', p_kind.table_name,
    case when p_kind.kind is null then '' else format('where t.route_kind = %L', p_kind.kind) end) into v_ids;
  return v_ids;
end
$fn$;
create temp table kept (tag text, written text);

select is(flight.replace_set(k.tag, '{1,2}', array[pg_temp.elements(k.tag, 3), pg_temp.elements(k.tag, 2)]), '{1,2}', k.tag || ': two flights') from kind k;
select is((pg_temp.doc(1) -> k.tag)::text || (pg_temp.doc(2) -> k.tag)::text, pg_temp.shown(k.tag, pg_temp.elements(k.tag, 3))::text || pg_temp.shown(k.tag, pg_temp.elements(k.tag, 2))::text,
  k.tag || ': as sent') from kind k;
insert into kept select k.tag, pg_temp.written(k) from kind k;
select is(flight.replace_set(k.tag, '{1,2}', array[pg_temp.elements(k.tag, 3), pg_temp.elements(k.tag, 2)]), '{}', k.tag || ': the same again changes nobody') from kind k;
select is(pg_temp.written(k), o.written, k.tag || ': and writes no row') from kind k join kept o using (tag);
select is(flight.replace_set(k.tag, '{1,2}', array[pg_temp.elements(k.tag, 3), '[]']), '{2}', k.tag || ': one emptied') from kind k;
select is((pg_temp.doc(1) -> k.tag) is not null and not pg_temp.doc(2) ? k.tag, true, k.tag || ': the other stands') from kind k;
select is(flight.replace_set(k.tag, '{2}', array['[]'::jsonb]), '{}', k.tag || ': emptied again') from kind k;
select is(flight.replace_set(k.tag, '{1}', array[jsonb_build_array(pg_temp.elements(k.tag, 3) -> 1, pg_temp.elements(k.tag, 3) -> 0, pg_temp.elements(k.tag, 3) -> 2)]), '{1}', k.tag || ': another order is a change') from kind k;
select * from finish();
rollback;
