-- The order of tags: the columns of flight.flight_schd, then the site's scalars in their order, then the sets, then MAFL.
begin;
select plan(4);
select is(
  (flight.tag_order('{}'))[1:46],
  (select array_agg(upper(a.attname::text) order by a.attnum) from pg_attribute a
   where a.attrelid = 'flight.flight_schd'::regclass and a.attnum > 0
     and a.attname not in ('flid', 'state', 'state_version', 'updated_at', 'operation_day', 'last_message_id', 'created_at', 'extra')), 'scalars in the order of the columns');
select is((flight.tag_order('{}'))[47:], '{GTDT,CKDT,CLDT,CHDT,PSDT,CHOT,DELY,ABTM,ROUT,ERUT,MAFL}'::text[], 'then the sets');
select is((flight.tag_order('{ZZZ text 8,tobt datetime}'))[46:49], '{REID,ZZZ,TOBT,GTDT}'::text[], 'the site''s between them, in the order given');
select is((select (flight.tag_order(s.catalogue_site_scalars))[47:53] from core.setting s), '{TOBT,COBT,CTOT,EOBT,IEST,RUNW,FLAB}'::text[], 'as they are declared by default');
select * from finish();
rollback;
