-- Ten sets in nine tables.
begin;
select plan(4);
select is(count(distinct flight.set_table(t.tag)), 9::bigint, 'nine tables for ten sets') from unnest('{GTDT,CKDT,CLDT,CHDT,PSDT,CHOT,DELY,ABTM,ROUT,ERUT}'::text[]) t(tag);
select is(count(to_regclass('flight.' || flight.set_table(t.tag))), 10::bigint, 'all exist') from unnest('{GTDT,CKDT,CLDT,CHDT,PSDT,CHOT,DELY,ABTM,ROUT,ERUT}'::text[]) t(tag);
select is(flight.set_table('ROUT'), flight.set_table('ERUT'), 'routes share one');
select is(count(flight.set_table(t.tag)), 0::bigint, 'no set, no table') from unnest('{MAFL,SRVT,VIPF,FLNO,gtdt,X}'::text[]) t(tag);
select * from finish();
rollback;
