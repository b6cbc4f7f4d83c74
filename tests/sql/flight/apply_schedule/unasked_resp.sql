-- A RESP that nobody asked for: nothing changes and it is SKIPPED (implementation.md 7.1), judged before its content (design 11.16); or
-- it is applied like a plan that covers no day (flight-state.md 5.2).
begin;
\ir ../../flights.psql
select plan(16);

select is(pg_temp.dnld(pg_temp.p(1)), 'SUCCEEDED', 'a flight');
create temp table before as select pg_temp.fingerprint() as print;
select is(pg_temp.resp(pg_temp.p(1), pg_temp.p(2)), 'SKIPPED', 'retain: unasked');
select is(pg_temp.note(), 'no-open-request', 'with the reason');
select is(pg_temp.send('SCHD_RESP', array[pg_temp.p(1)], '{"declared": "x"}'), 'SKIPPED', 'retain: its content is not even judged');
select is(pg_temp.resp(pg_temp.p(1, '2026-03-11')), 'SKIPPED', 'retain: not for its day either');
select request.open_plan('2026-03-11');
select is(pg_temp.resp(pg_temp.p(1)), 'SKIPPED', 'retain: a request for another day does not help');
update request.req_track set state = 'EXPIRED';
select is(pg_temp.fingerprint() <> (select b.print from before b) , true, '(the request is there)');
delete from request.req_track;
select is(pg_temp.fingerprint(), (select b.print from before b), 'retain: nothing changed');
select is(pg_temp.traces(2), null, 'no trace: no plan was tried');

select pg_temp.policy('ledger');
select is(pg_temp.resp(pg_temp.p(1), pg_temp.p(2)), 'SUCCEEDED', 'ledger: applied');
select is(pg_temp.told(), '1 v2 []; 2 v1 [FLNO SODT]', 'ledger: and told');
select is(pg_temp.traces(), '2026-03-10 COMMITTED -->- 2 recs {}', 'ledger: it covers no day');
select is(pg_temp.roster('2026-03-10'), null, 'ledger: no roster');
select is(pg_temp.send('SCHD_RESP', array[pg_temp.p(1)], '{"declared": "x"}'), 'DEAD(PROTOCOL)', 'ledger: its content is judged');
update core.setting set policy_unasked_resp = 'SKIP';
select is(pg_temp.resp(pg_temp.p(1)), 'SKIPPED', 'the switch alone decides');
select is(pg_temp.dnld(pg_temp.p(1)), 'SUCCEEDED', 'a DNLD needs no request');
select * from finish();
rollback;
