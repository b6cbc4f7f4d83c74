-- The order of tags in everything that is published: that of the catalogue (loader/catalogue.py; a test compares the two).
-- Reads:  nothing
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function flight.tag_order(p_site_scalars text[])
returns text[]
language plpgsql
immutable
set search_path to ''
as $fn$
begin
  return array[
    'ALCD', 'ALSC', 'FLNO', 'MVIN', 'SODT', 'FLTY', 'FLIN', 'ACFT', 'RENO',
    'TAOP', 'TAFL', 'TAID', 'TRML', 'CSOP', 'CSFT', 'MAID',
    'ESTT', 'ACTT', 'BOTM', 'LACL', 'FINT', 'APPT', 'EGSR', 'EGST', 'PADT', 'NAAT', 'NEAT', 'PEDT', 'FTSS',
    'STND', 'PHAG', 'FHAG', 'MHAG', 'CNCL', 'REMC', 'MAXP', 'VIPP', 'VIPR', 'LBNO', 'LBWT', 'PAXC', 'EXSC', 'EXSR',
    'DDES', 'DDIR', 'REID'
  ] || array(
    select upper(split_part(s.entry, ' ', 1)) from unnest(p_site_scalars) with ordinality s(entry, place) order by s.place
  ) || array['GTDT', 'CKDT', 'CLDT', 'CHDT', 'PSDT', 'CHOT', 'DELY', 'ABTM', 'ROUT', 'ERUT', 'MAFL'];
end
$fn$;

comment on function flight.tag_order(text[]) is 'All tags in catalogue order, the site''s scalars (TAG type [length]) among them';
