-- INV-12, INV-19, flight-state.md 5.3: a flight keeps its day. A plan or ADFT that says another is refused whole, with the alert
-- SAME_FLID_ACROSS_OPERATION_DAYS that names the flights, and the trace flagged DAY_MISMATCH.
begin;
\ir ../../flights.psql
select plan(24);

select is(pg_temp.dnld(pg_temp.p(1), pg_temp.p(2), pg_temp.p(3)), 'SUCCEEDED', 'three flights of the 10th');
create temp table before as select pg_temp.fingerprint() as print;
select is(pg_temp.dnld(pg_temp.p(9, '2026-03-11'), pg_temp.p(1, '2026-03-11'), pg_temp.p(3, '2026-03-11'), pg_temp.p(2)), 'DEAD(PROTOCOL)', 'two of them on the 11th');
select is(pg_temp.fingerprint(), (select b.print from before b), 'nothing of it landed, not the new flight either');
select is(pg_temp.alerts(), 'SAME_FLID_ACROSS_OPERATION_DAYS', 'the alert');
select matches(
  (select a.detail from core.alert a), '1 \(2026-03-10, now said to be 2026-03-11\), 3 \(2026-03-10, now said to be 2026-03-11\)', 'it names the flights and the days');
select is(pg_temp.traces(), '2026-03-10 ROLLED_BACK -->- 1 recs {DAY_MISMATCH}; 2026-03-11 ROLLED_BACK -->- 3 recs {DAY_MISMATCH}', 'the trace');
select is(pg_temp.adft(pg_temp.p(1, '2026-03-11')), 'DEAD(PROTOCOL)', 'an ADFT likewise');
select is(pg_temp.alerts(), 'SAME_FLID_ACROSS_OPERATION_DAYS', 'with the same alert');
select is(pg_temp.traces(), null, 'but no trace: it is no plan');
select is(pg_temp.fingerprint(), (select b.print from before b), 'and nothing landed');
select is(pg_temp.adft(pg_temp.p(1, '2026-03-11', '{"sodt": null}')), 'SUCCEEDED', 'an ADFT whose SODT is empty names no day');
select is(pg_temp.life(1) || coalesce(pg_temp.doc(1) ->> 'SODT', ' without SODT'), 'ACTIVE v2 of 2026-03-10 without SODT', 'and moves none');

-- a deleted flight: its day stays under retain, any day may follow under ledger
select is(pg_temp.fdel(2), 'SUCCEEDED', 'one is deleted');
select is(pg_temp.dnld(pg_temp.p(2, '2026-03-11')), 'DEAD(PROTOCOL)', 'retain: a new life on another day is a conflict');
select is(pg_temp.dnld(pg_temp.p(2)) || ' ' || pg_temp.life(2), 'SUCCEEDED ACTIVE v3 of 2026-03-10', 'on its day it is welcome');
select is(pg_temp.fdel(2), 'SUCCEEDED', 'deleted again');
select pg_temp.policy('ledger');
select is(pg_temp.dnld(pg_temp.p(3, '2026-03-11')), 'DEAD(PROTOCOL)', 'ledger: a living flight keeps its day too');
select is(pg_temp.alerts(), 'SAME_FLID_ACROSS_OPERATION_DAYS', 'with the alert');
select is(pg_temp.dnld(pg_temp.p(2, '2026-03-11')) || ' ' || pg_temp.life(2), 'SUCCEEDED ACTIVE v5 of 2026-03-11', 'ledger: what retain left deleted may live on any day, its version goes on');
select is(pg_temp.fdel(3) || coalesce(pg_temp.life(3), ' gone'), 'SUCCEEDED gone', 'ledger: deleted is gone');
select is(pg_temp.adft(pg_temp.p(3, '2026-03-12')) || ' ' || pg_temp.life(3), 'SUCCEEDED ACTIVE v3 of 2026-03-12', 'and any day follows');
select is((select count(*) from core.alert a where a.code = 'SAME_FLID_ACROSS_OPERATION_DAYS'), 4::bigint, 'an alert for each refusal');

-- many at once: the reason stays readable and storable
select pg_temp.send('SCHD_DNLD', array(select pg_temp.p(i) from generate_series(1000, 1999) i));
select is(pg_temp.send('SCHD_DNLD', array(select pg_temp.p(i, '2026-03-11') from generate_series(1000, 1999) i)), 'DEAD(PROTOCOL)', 'a thousand flights on another day');
select cmp_ok(length(pg_temp.note()), '<', 2000, 'the reason is no novel');
select * from finish();
rollback;
