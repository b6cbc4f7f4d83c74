-- implementation.md 12.2, row by row, for the subtypes that set scalars: input -> target -> what an empty tag does. A tag that is
-- absent keeps, one that is empty clears, a value replaces; nothing else moves; CHANGED names what did.
begin;
\ir ../../flights.psql
select plan(82);

create temp table subtype (sis text, styp text, field text, old_value jsonb, new_value jsonb);
insert into subtype values
  ('3.19', 'ACFT', 'acft', '"320"', '"738"'),
  ('3.20', 'ACTT', 'actt', '"2026-03-10T10:31:00+08:00"', '"2026-03-10T10:33:00+08:00"'),
  ('3.21', 'BOTM', 'botm', '"2026-03-10T09:45:00+08:00"', '"2026-03-10T09:50:00+08:00"'),
  ('3.23', 'FLTY', 'flty', '"J"', '"C"'),
  ('3.27', 'CNCL', 'cncl', '"2026-03-10T08:00:00+08:00"', '"2026-03-10T08:05:00+08:00"'),
  ('3.28', 'ESTT', 'estt', '"2026-03-10T10:45:00+08:00"', '"2026-03-10T10:55:00+08:00"'),
  ('3.30', 'FDIV', 'ddes', '"SZX"', '"CAN"'),
  ('3.30', 'FDIV', 'ddir', '"O"', '"I"'),
  ('3.31', 'FINT', 'fint', '"2026-03-10T11:00:00+08:00"', '"2026-03-10T11:02:00+08:00"'),
  ('3.32', 'FLIN', 'flin', '"D"', '"I"'),
  ('3.33', 'FRET', 'reid', '"R1"', '"R2"'),
  ('3.35', 'LACL', 'lacl', '"2026-03-10T10:10:00+08:00"', '"2026-03-10T10:12:00+08:00"'),
  ('3.36', 'MAXP', 'maxp', '170', '180'),
  ('3.37', 'HNAG', 'fhag', '"F1"', '"F2"'),
  ('3.37', 'HNAG', 'phag', '"P1"', '"P2"'),
  ('3.37', 'HNAG', 'mhag', '"M1"', '"M2"'),
  ('3.39', 'RENO', 'reno', '"B6001"', '"B6002"'),
  ('3.42', 'TRML', 'trml', '"T1"', '"T2"'),
  ('3.43', 'VIPP', 'vipp', '"3"', '"4"'),
  ('3.43', 'VIPP', 'vipr', '"喆"', '"堃"'),
  -- not in SIS, ordinary fields of the XSD
  ('XSD', 'PADT', 'padt', '"2026-03-10T10:20:00+08:00"', '"2026-03-10T10:21:00+08:00"'),
  ('XSD', 'FTSS', 'ftss', '"2026-03-10T10:22:00+08:00"', '"BOR"'),
  ('XSD', 'STND', 'stnd', '"101"', '"102"'),
  ('XSD', 'REMC', 'remc', '"late"', '"later"');

-- The flight holds every old value when the subtype comes; a note of what the FLOP left.
create function pg_temp.after_flop(p_styp text, p_scalars jsonb) returns text
language plpgsql as $fn$
declare
  v_before jsonb;
  v_changes jsonb;
  v_ending text;
begin
  perform pg_temp.flop(7701002, 'ALL', (select jsonb_object_agg(s.field, s.old_value) from subtype s));
  v_before := pg_temp.doc(7701002);
  v_ending := pg_temp.flop(7701002, p_styp, p_scalars);
  select coalesce(jsonb_object_agg(k.key, pg_temp.doc(7701002) -> k.key), '{}') into v_changes
  from (select jsonb_object_keys(v_before || pg_temp.doc(7701002)) as key) k
  where v_before -> k.key is distinct from pg_temp.doc(7701002) -> k.key;
  return concat_ws(' ', v_ending, v_changes, substring(pg_temp.told() from '\[.*\]'));
end
$fn$;

select is(pg_temp.dnld(pg_temp.p(7701002)), 'SUCCEEDED', 'a flight to work on');

select is(
  pg_temp.after_flop(s.styp, jsonb_build_object(case s.field when 'acft' then 'reno' else 'acft' end, 'X9')),
  format('SUCCEEDED {"%1$s": "X9"} [%1$s]', case s.field when 'acft' then 'RENO' else 'ACFT' end),
  format('SIS %s %s: %s absent keeps it', s.sis, s.styp, upper(s.field)))
from subtype s order by s.sis, s.field;

select is(
  pg_temp.after_flop(s.styp, jsonb_build_object(s.field, null)),
  format('SUCCEEDED {"%1$s": null} [%1$s]', upper(s.field)),
  format('SIS %s %s: %s empty clears it', s.sis, s.styp, upper(s.field)))
from subtype s order by s.sis, s.field;

select is(
  pg_temp.after_flop(s.styp, jsonb_build_object(s.field, s.new_value)),
  format('SUCCEEDED {"%1$s": %2$s} [%1$s]', upper(s.field), s.new_value),
  format('SIS %s %s: %s replaces it', s.sis, s.styp, upper(s.field)))
from subtype s order by s.sis, s.field;

-- Cases that are more than one field.
select is(pg_temp.after_flop('CNCL', '{"cncl": null}'), 'SUCCEEDED {"CNCL": null} [CNCL]', 'CNCL empty takes the cancellation back');
select is((pg_temp.doc(7701002) -> 'SODT')::text, '"2026-03-10T10:00:00+08:00"', 'and touches no time');
select is(
  pg_temp.after_flop('HNAG', '{"fhag": "F2", "phag": null}'), 'SUCCEEDED {"FHAG": "F2", "PHAG": null} [PHAG FHAG]',
  'HNAG: one replaced, one deleted, MHAG may be absent');
select is(
  pg_temp.after_flop('FDIV', '{"ddes": null, "ddir": null}'), 'SUCCEEDED {"DDES": null, "DDIR": null} [DDES DDIR]', 'FDIV empty clears the diversion');
select is(
  pg_temp.after_flop('ESTT', '{"estt": "2026-03-10T10:45:00+08:00"}'), 'SUCCEEDED {} []', 'the same value again changes nothing and is told');
select is(
  pg_temp.after_flop('ESTT', '{"actt": "2026-03-10T10:33:00+08:00"}'), 'SUCCEEDED {"ACTT": "2026-03-10T10:33:00+08:00"} [ACTT]',
  'whatever the STYP, the tags that came are merged');
select is(
  pg_temp.after_flop('estt', '{"estt": null}'), 'SUCCEEDED {"ESTT": null} [ESTT]', 'lower case STYP');
select is(
  pg_temp.flop(7701002, 'SODT', '{"sodt": "2026-03-12T10:00:00+08:00"}') || ' ' || substring(pg_temp.life(7701002) from 'of.*'),
  'SUCCEEDED of 2026-03-10', 'a SODT in a FLOP changes the scalar, not the day');
select is(pg_temp.doc(7701002) ->> 'SODT', '2026-03-12T10:00:00+08:00', 'the scalar did change');
select * from finish();
rollback;
