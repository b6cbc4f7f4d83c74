-- flight.document (design 3, 8): bytes. Keys in catalogue order, site scalars among them in the setting's order, sets by ORDINAL, absent
-- = no key, no blanks, times with the airport's offset, numbers as numbers. The same state gives the same bytes whatever led to it.
begin;
\ir ../../flights.psql
select plan(18);
set local msgx.now to '2026-03-10 08:40:12.123456+08';

create function pg_temp.bytes(p_flid bigint) returns text
language sql as $fn$ select d.document::text from flight.document(array[p_flid]) d $fn$;

-- the example of the design
select pg_temp.dnld(pg_temp.p(7701002, '2026-03-10', '{"flno": "ZH9422", "mvin": "D", "sodt": "2026-03-10T10:25:00+08:00"}',
  '{"GTDT": [{"source_seq": 1, "gate": "G12", "pgot": "2026-03-10T09:40:00+08:00"}], "ROUT": [{"source_seq": 1, "apcd": "SZX"}]}'));
select pg_temp.adft(pg_temp.p(7701009, '2026-03-10', '{"flno": "CA3422", "maid": 7701002}'));
select pg_temp.flop(7701002, 'MAXP', '{"maxp": 170}');
select is(pg_temp.bytes(7701002),
  '{"FLID":7701002,"STATE":"ACTIVE","STATE_VERSION":3,"UPDATED_AT":"2026-03-10T08:40:12.123456+08:00","OPERATION_DAY":"2026-03-10","LAST_MESSAGE_ID":3,'
  '"FLNO":"ZH9422","MVIN":"D","SODT":"2026-03-10T10:25:00+08:00","MAXP":170,"GTDT":[{"ORDINAL":1,"GTNO":1,"GATE":"G12","PGOT":"2026-03-10T09:40:00+08:00"}],'
  '"ROUT":[{"ORDINAL":1,"RTNO":1,"APCD":"SZX"}],"MAFL":[{"FLID":7701009,"FLNO":"CA3422"}]}', 'the example of the design');
select is(pg_temp.bytes(7701009),
  '{"FLID":7701009,"STATE":"ACTIVE","STATE_VERSION":1,"UPDATED_AT":"2026-03-10T08:40:12.123456+08:00","OPERATION_DAY":"2026-03-10","LAST_MESSAGE_ID":2,'
  '"FLNO":"CA3422","SODT":"2026-03-10T10:00:00+08:00","MAID":7701002}', 'its child');

-- everything there is: all keys in catalogue order
select pg_temp.send('SCHD_DNLD', array[pg_temp.f(1,
  (select jsonb_object_agg(a.attname, case format_type(a.atttypid, null)
     when 'timestamp with time zone' then '"2026-03-10T11:00:00+08:00"' when 'text' then to_jsonb('v' || a.attname) when 'bigint' then '1' else '17' end::jsonb)
   from pg_attribute a
   where a.attrelid = 'flight.flight_schd'::regclass and a.attnum > 0
     and a.attname not in ('flid', 'state', 'state_version', 'updated_at', 'operation_day', 'last_message_id', 'created_at', 'extra')),
  (select jsonb_object_agg(t.tag, pg_temp.elements(t.tag, 2)) from unnest('{GTDT,CKDT,CLDT,CHDT,PSDT,CHOT,DELY,ABTM,ROUT,ERUT}'::text[]) t(tag)),
  '{"RUNW": "02L", "IEST": "2026-03-10T11:00:00+08:00", "FLAB": "f", "TOBT": "2026-03-10T11:00:00+08:00", "EOBT": "2026-03-10T11:00:00+08:00"}')]);
select is(
  (select string_agg(k.key, ' ' order by k.ordinality) from json_object_keys(pg_temp.bytes(1)::json) with ordinality k(key, ordinality)),
  'FLID STATE STATE_VERSION UPDATED_AT OPERATION_DAY LAST_MESSAGE_ID '
  'ALCD ALSC FLNO MVIN SODT FLTY FLIN ACFT RENO TAOP TAFL TAID TRML CSOP CSFT MAID '
  'ESTT ACTT BOTM LACL FINT APPT EGSR EGST PADT NAAT NEAT PEDT FTSS '
  'STND PHAG FHAG MHAG CNCL REMC MAXP VIPP VIPR LBNO LBWT PAXC EXSC EXSR DDES DDIR REID '
  'TOBT EOBT IEST RUNW FLAB GTDT CKDT CLDT CHDT PSDT CHOT DELY ABTM ROUT ERUT', 'all keys, in the order of the catalogue');
select is(
  (select string_agg((select string_agg(k.key, ' ' order by k.ordinality) from json_object_keys(s.value -> 1) with ordinality k(key, ordinality)), ' | ' order by s.ordinality)
   from json_each(pg_temp.bytes(1)::json) with ordinality s(key, value, ordinality) where json_typeof(s.value) = 'array'),
  'ORDINAL GTNO GATE PGOT PGCT GOTM GCTM GTYP | ORDINAL CKNO CHKC CCLS PCOT PCCT COTM CCTM CTYP | ORDINAL CLNO BELT BCLS PCOT PCCT FBAG LBAG BTYP | '
  'ORDINAL CHNO CHUT CHCLS PCBT PCET CBTM CETM CHTYP | ORDINAL PSNO PSST STST STET | ORDINAL CSNO CHTM CHID CHST | ORDINAL CODE STRT DURA TEXT | '
  'ORDINAL ASNO ABDG ABOP AOTM | ORDINAL RTNO APCD SCAT SCDT | ORDINAL RTNO APCD SCAT SCDT', 'all keys of the sets, in the order of the specification');
select is(
  (select string_agg(t.tag, ' ' order by t.tag) from unnest('{GTDT,CKDT,CLDT,CHDT,PSDT,CHOT,DELY,ABTM,ROUT,ERUT}'::text[]) t(tag)
   where pg_temp.doc(1) -> t.tag is distinct from pg_temp.shown(t.tag, pg_temp.elements(t.tag, 2))), null, 'every part of every set as it was sent');
select ok(pg_temp.bytes(1) !~ '[ \n]', 'no blank that is not in a value');

-- letters
select pg_temp.adft(pg_temp.f(2, jsonb_build_object('remc', E'a "b" \\ / 喆䶮 😀 \t', 'vipr', '')));
select is(pg_temp.bytes(2)::jsonb ->> 'REMC', E'a "b" \\ / 喆䶮 😀 \t', 'text survives');
select cmp_ok(strpos(pg_temp.bytes(2), '"REMC":"a \"b\" \\ / 喆䶮 😀 \t"'), '>', 0, 'escaped as little as JSON allows');

-- no value, no key
select pg_temp.adft(pg_temp.f(3));
select is((select string_agg(k, ' ') from json_object_keys(pg_temp.bytes(3)::json) k), 'FLID STATE STATE_VERSION UPDATED_AT LAST_MESSAGE_ID', 'a bare flight: no day either');
select pg_temp.adft(pg_temp.f(3, '{}', '{"GTDT": [{}], "DELY": [{"text": "T"}]}'));
select ok(pg_temp.bytes(3) like '%"GTDT":[{"ORDINAL":1}],"DELY":[{"ORDINAL":1,"TEXT":"T"}]}', 'an element without a part');

-- the same state by two ways
select pg_temp.adft(pg_temp.p(4, '2026-03-10', '{"remc": "x", "acft": "320"}', '{"CHOT": [{"chid": "A"}], "GTDT": [{"gate": "1"}]}', '{"FLAB": "f", "RUNW": "r"}'));
select pg_temp.adft(pg_temp.f(4, '{"estt": null}'));
select pg_temp.adft(pg_temp.p(5, '2026-03-10', '{"acft": "738"}', '{"GTDT": [{"gate": "1"}]}', '{"RUNW": "r", "TOBT": "2026-03-10T11:00:00+08:00"}'));
select pg_temp.adft(pg_temp.f(5, '{"remc": "x", "acft": "320", "flno": "CA4"}', '{"CHOT": [{"chid": "A"}]}', '{"TOBT": null, "FLAB": "f"}'));
select is(
  regexp_replace(pg_temp.bytes(4), '"(FLID|LAST_MESSAGE_ID)":\d+', '"\1":0', 'g'), regexp_replace(pg_temp.bytes(5), '"(FLID|LAST_MESSAGE_ID)":\d+', '"\1":0', 'g'),
  'the same bytes, whatever messages led to it');

-- site scalars follow the setting, also when it changes; one that left it comes after the others
update core.setting set catalogue_site_scalars = array['FLAB text 64', 'tobt datetime'];
select is((select string_agg(k, ' ') from json_object_keys(pg_temp.bytes(1)::json) k where k in ('REID', 'RUNW', 'FLAB', 'TOBT', 'IEST', 'EOBT', 'GTDT')), 'REID FLAB TOBT EOBT IEST RUNW GTDT',
  'in the order of the setting');

-- which flights
select is((select array_agg(d.flid order by d.flid) from flight.document('{3,1,1,999,3,null}') d), '{1,3}'::bigint[], 'each flight once, none that has no row');
select is((select count(*) from flight.document('{}')), 0::bigint, 'none asked, none told');
select is((select count(*) from flight.document(null)), 0::bigint, 'nor for null');
select pg_temp.fdel(3);
select is((select d.document ->> 'STATE' from flight.document('{3}') d), 'DELETED', 'a deleted one with its STATE');
set local timezone to 'Pacific/Kiritimati';
create temp table before as select pg_temp.bytes(1) as bytes;
set local timezone to 'UTC';
select is(pg_temp.bytes(1), (select b.bytes from before b), 'the session''s zone does not show');
select is(current_setting('timezone'), 'UTC', 'and is left as it was');
select * from finish();
rollback;
