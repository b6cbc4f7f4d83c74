-- SIS 3.41: TAOP, TAFL and TAID are one link; any of the three empty breaks it (design 11.13).
begin;
\ir ../../flights.psql
select plan(12);

create temp table link (field text, tag text);
insert into link values ('taop', 'TAOP'), ('tafl', 'TAFL'), ('taid', 'TAID');

select is(pg_temp.dnld(pg_temp.p(7701002)), 'SUCCEEDED', 'a flight');
select is(
  concat_ws(' ', pg_temp.flop(7701002, 'TAOP', '{"taop": "CA", "tafl": "CA100", "taid": 7701003}'), pg_temp.told()), 'SUCCEEDED 7701002 v2 [TAOP TAFL TAID]',
  'the link is set');

select is(
  concat_ws(' ', pg_temp.flop(7701002, 'TAOP', jsonb_build_object(l.field, null)),
    pg_temp.doc(7701002) ?| array['TAOP', 'TAFL', 'TAID'], substring(pg_temp.told() from '\[.*\]'),
    pg_temp.flop(7701002, 'TAOP', '{"taop": "CA", "tafl": "CA100", "taid": 7701003}')),
  'SUCCEEDED f [TAOP TAFL TAID] SUCCEEDED', format('%s empty breaks all three', l.tag))
from link l;
select is(
  concat_ws(' ', pg_temp.flop(7701002, 'TAOP', '{"taop": "MU", "tafl": "MU7", "taid": null}'), pg_temp.doc(7701002) ?| array['TAOP', 'TAFL', 'TAID']),
  'SUCCEEDED f', 'one empty beside two values breaks it too');
select is(pg_temp.flop(7701002, 'TAOP', '{"taop": "CA", "tafl": "CA100", "taid": 7701003}'), 'SUCCEEDED', 'set again');
select is(
  concat_ws(' ', pg_temp.flop(7701002, 'TAOP', '{"tafl": "CA200"}'), pg_temp.doc(7701002) ->> 'TAOP', pg_temp.doc(7701002) ->> 'TAFL', pg_temp.doc(7701002) ->> 'TAID'),
  'SUCCEEDED CA CA200 7701003', 'absent keeps');
select is(
  concat_ws(' ', pg_temp.flop(7701002, 'ESTT', '{"estt": null}'), pg_temp.doc(7701002) ? 'TAID'), 'SUCCEEDED t', 'another field empty breaks nothing');
select is(
  concat_ws(' ', pg_temp.dnld(pg_temp.p(7701002, '2026-03-10', '{"taop": null}')), pg_temp.doc(7701002) ->> 'TAFL', pg_temp.doc(7701002) ? 'TAOP'),
  'SUCCEEDED CA200 f', 'the rule is the FLOP''s: in a plan the empty tag clears itself alone');
select is(
  concat_ws(' ', pg_temp.adft(pg_temp.f(7701002, '{"tafl": null}')), pg_temp.doc(7701002) ->> 'TAID'), 'SUCCEEDED 7701003', 'and in an ADFT');
select is(
  concat_ws(' ', pg_temp.flop(7701002, 'TAOP', '{"taid": null}'), pg_temp.told()), 'SUCCEEDED 7701002 v15 [TAID]', 'CHANGED has only what was there');
select * from finish();
rollback;
