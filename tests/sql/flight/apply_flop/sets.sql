-- The sets that a FLOP may bring under either policy: absent keeps, [] (number 0, nothing inside) clears, elements replace the whole set
-- in the order of the message (implementation.md 11.3, 12.2; SIS 3.22). Elements are never merged or deduplicated.
begin;
\ir ../../flights.psql
select plan(29);

create temp table kind (tag text);
insert into kind values ('CHOT'), ('DELY'), ('ABTM'), ('ERUT');

select is(pg_temp.dnld(pg_temp.p(7701002)), 'SUCCEEDED', 'a flight');
select is(
  concat_ws(' ', pg_temp.flop(7701002, k.tag, '{}', jsonb_build_object(k.tag, pg_temp.elements(k.tag, 2))), substring(pg_temp.told() from '\[.*\]'),
    pg_temp.doc(7701002) -> k.tag = pg_temp.shown(k.tag, pg_temp.elements(k.tag, 2))),
  format('SUCCEEDED [%s] t', k.tag), format('%s comes with two elements', k.tag))
from kind k;
select is(
  concat_ws(' ', pg_temp.flop(7701002, k.tag, '{}', jsonb_build_object(k.tag, pg_temp.elements(k.tag, 3))), substring(pg_temp.told() from '\[.*\]'),
    pg_temp.doc(7701002) -> k.tag = pg_temp.shown(k.tag, pg_temp.elements(k.tag, 3))),
  format('SUCCEEDED [%s] t', k.tag), format('%s is replaced as a whole', k.tag))
from kind k;
select is(
  concat_ws(' ', pg_temp.flop(7701002, k.tag, '{}', jsonb_build_object(k.tag, pg_temp.elements(k.tag, 3))), substring(pg_temp.told() from '\[.*\]')),
  'SUCCEEDED []', format('%s unchanged is told without a change', k.tag))
from kind k;
select is(
  concat_ws(' ', pg_temp.flop(7701002, 'ESTT', '{"estt": null}'), pg_temp.doc(7701002) -> k.tag = pg_temp.shown(k.tag, pg_temp.elements(k.tag, 3))),
  'SUCCEEDED t', format('%s absent stays', k.tag))
from kind k;
select is(
  concat_ws(' ', pg_temp.flop(7701002, k.tag, '{}', jsonb_build_object(k.tag, '[]'::jsonb)), substring(pg_temp.told() from '\[.*\]'), pg_temp.doc(7701002) ? k.tag),
  format('SUCCEEDED [%s] f', k.tag), format('%s empty clears it', k.tag))
from kind k;

-- Details
select is(
  concat_ws(' ', pg_temp.flop(7701002, 'CHOT', '{}', '{"CHOT": [{"source_seq": 1, "chtm": "2026-03-10T11:00:00+08:00", "chid": "101"},
    {"source_seq": 1, "chid": "101"}, {"chid": "101"}]}'), pg_temp.doc(7701002) -> 'CHOT'),
  'SUCCEEDED [{"CHID": "101", "CHTM": "2026-03-10T11:00:00+08:00", "CSNO": 1, "ORDINAL": 1}, {"CHID": "101", "CSNO": 1, "ORDINAL": 2}, {"CHID": "101", "ORDINAL": 3}]',
  'equal resources and equal numbers stay elements of their own; no number is no key');
select is(
  concat_ws(' ', pg_temp.flop(7701002, 'CHOT', '{}', '{"CHOT": [{"source_seq": 1, "chid": "101"}, {"source_seq": 1, "chid": "101"}, {"chid": "101"}]}'),
    pg_temp.doc(7701002) #> '{CHOT,0}'),
  'SUCCEEDED {"CHID": "101", "CSNO": 1, "ORDINAL": 1}', 'CHTM empty in an element takes its time away');
select is(
  concat_ws(' ', pg_temp.flop(7701002, 'CHOT', '{}', '{"CHOT": [{"source_seq": 1}]}'), pg_temp.doc(7701002) -> 'CHOT'),
  'SUCCEEDED [{"CSNO": 1, "ORDINAL": 1}]', 'an element whose one part is empty is still an element');
select is(
  concat_ws(' ', pg_temp.flop(7701002, 'CHOT', '{}', '{"CHOT": [{"source_seq": 2, "chid": "B"}, {"source_seq": 1, "chid": "A"}]}'), pg_temp.told()),
  'SUCCEEDED 7701002 v25 [CHOT]', 'another order');
select is(
  concat_ws(' ', pg_temp.flop(7701002, 'CHOT', '{}', '{"CHOT": [{"source_seq": 1, "chid": "A"}, {"source_seq": 2, "chid": "B"}]}'), pg_temp.told()),
  'SUCCEEDED 7701002 v26 [CHOT]', 'order alone is a change');
select is(
  concat_ws(' ', pg_temp.flop(7701002, 'DELY', '{}', '{"DELY": [{"code": "11", "strt": "2026-03-10T11:00:00+08:00", "dura": "20"}]}'), pg_temp.doc(7701002) -> 'DELY'),
  'SUCCEEDED [{"CODE": "11", "DURA": "20", "STRT": "2026-03-10T11:00:00+08:00", "ORDINAL": 1}]', 'DELY with attributes only is an element');
select is(
  concat_ws(' ', pg_temp.flop(7701002, 'CHOT', '{"estt": "2026-03-10T11:00:00+08:00"}', '{"CHOT": [], "ABTM": [{"abdg": "8"}], "DELY": [{"code": "11", "strt": "2026-03-10T11:00:00+08:00", "dura": "20"}]}'),
    pg_temp.told()),
  'SUCCEEDED 7701002 v28 [ESTT CHOT ABTM]', 'several at once: CHANGED in the order of the catalogue, without what stayed');
select is(
  concat_ws(' ', pg_temp.flop(7701002, 'FLNO', '{"flno": "CA2"}', '{"ROUT": [{"source_seq": 1, "apcd": "SZX"}], "ERUT": [{"source_seq": 1, "apcd": "CAN"}]}'),
    pg_temp.doc(7701002) -> 'ROUT', pg_temp.doc(7701002) -> 'ERUT'),
  'SUCCEEDED [{"APCD": "SZX", "RTNO": 1, "ORDINAL": 1}] [{"APCD": "CAN", "RTNO": 1, "ORDINAL": 1}]', 'ROUT and ERUT with the same number');
select * from finish();
rollback;
