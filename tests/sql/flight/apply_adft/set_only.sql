-- ADFT (implementation.md 12.3): creates or updates one flight, sets what it carries, keeps what it leaves out; its day comes from SODT;
-- it moves no roster and answers no request. The same under both policies.
begin;
\ir ../../flights.psql
select plan(43);

create function pg_temp.life_of_adft(p_flid bigint) returns setof text
language plpgsql as $fn$
begin
  return next is(pg_temp.adft(pg_temp.f(p_flid, '{"flno": "CA1"}')) || ' ' || pg_temp.life(p_flid), 'SUCCEEDED ACTIVE v1 of no day', 'without SODT: created, no day');
  return next is(pg_temp.told(), p_flid || ' v1 [FLNO]', 'and told');
  return next is(pg_temp.adft(pg_temp.f(p_flid, '{"sodt": null}')) || ' ' || pg_temp.life(p_flid), 'SUCCEEDED ACTIVE v2 of no day', 'with an empty one: no day');
  return next is(pg_temp.adft(pg_temp.p(p_flid, '2026-03-10', '{"reno": "B1", "estt": "2026-03-10T10:20:00+08:00"}', jsonb_build_object('GTDT', pg_temp.elements('GTDT', 2)), '{"RUNW": "02L"}'))
    || ' ' || pg_temp.life(p_flid), 'SUCCEEDED ACTIVE v3 of 2026-03-10', 'with SODT: the day, once');
  return next is(pg_temp.told(), p_flid || format(' v3 [%sSODT RENO ESTT RUNW GTDT]', case when p_flid <> 1 then 'FLNO ' else '' end), 'sets of an allocation are welcome here');
  return next is(pg_temp.adft(pg_temp.f(p_flid, '{"reno": null}', '{"GTDT": []}', '{"RUNW": null}')) || pg_temp.told(), format('SUCCEEDED%s v4 [RENO RUNW GTDT]', p_flid), 'empty clears');
  return next is(pg_temp.doc(p_flid) - 'FLNO', '{"SODT": "2026-03-10T10:00:00+08:00", "ESTT": "2026-03-10T10:20:00+08:00"}'::jsonb, 'absent keeps');
  return next is(pg_temp.adft(pg_temp.p(p_flid, '2026-03-10', '{"sodt": "2026-03-10T23:59:00+08:00"}')) || pg_temp.told(), format('SUCCEEDED%s v5 [SODT]', p_flid), 'another time on the same day');
  return next is(pg_temp.adft(pg_temp.p(p_flid, '2026-03-11')) || pg_temp.alerts(), 'DEAD(PROTOCOL)SAME_FLID_ACROSS_OPERATION_DAYS', 'another day is refused');
  return next is(pg_temp.adft(pg_temp.f(p_flid)) || pg_temp.told(), format('SUCCEEDED%s v6 []', p_flid), 'nothing but the FLID: named, so it moves and is told');
  return next is(pg_temp.send('SCHD_ADFT', array[pg_temp.f(p_flid), pg_temp.f(p_flid + 1)]), 'DEAD(PROTOCOL)', 'two flights');
  return next matches(pg_temp.note(), 'carries 2 flights; it is about one', 'it says why');
  return next is(pg_temp.send('SCHD_ADFT', array[pg_temp.f(p_flid) || '{"flid": "12A"}']), 'DEAD(PROTOCOL)', 'FLID no number');
  return next is(pg_temp.send('SCHD_ADFT', array[pg_temp.f(p_flid) - 'flid']), 'DEAD(PROTOCOL)', 'no FLID');
  return next is(pg_temp.send('SCHD_ADFT', array[pg_temp.f(p_flid)], '{"declared": "7"}'), 'SUCCEEDED', 'RECS says nothing here');
  return next is(pg_temp.traces(), null, 'no trace');
end
$fn$;

select pg_temp.life_of_adft(1);
select is(request.open_plan('2026-03-10') > 0, true, 'a request is open');
select is(pg_temp.adft(pg_temp.p(1)), 'SUCCEEDED', 'an ADFT of that day');
select is((select q.state from request.req_track q), 'PENDING', 'answers nothing');
select is((select count(*) from ledger.schd_gen), 0::bigint, 'covers nothing');
select pg_temp.policy('ledger');
select pg_temp.life_of_adft(11);
select is(pg_temp.day_plan('2026-03-10', pg_temp.p(30)), 'SUCCEEDED', 'ledger: a day plan without the ADFT''s flights');
select is(pg_temp.life(11), 'ACTIVE v7 of 2026-03-10', 'ledger: they are on no roster, so none is deleted');
update core.setting set airport_day_cutover = '04:00';
select is(pg_temp.adft(pg_temp.f(40, '{"sodt": "2026-03-11T03:59:59+08:00"}')) || ' ' || pg_temp.life(40), 'SUCCEEDED ACTIVE v1 of 2026-03-10', 'before the cut-over: the day before');
select is(pg_temp.adft(pg_temp.f(41, '{"sodt": "2026-03-11T04:00:00+08:00"}')) || ' ' || pg_temp.life(41), 'SUCCEEDED ACTIVE v1 of 2026-03-11', 'at the cut-over: the day');
update core.setting set airport_timezone = 'America/New_York', airport_day_cutover = '00:00';
select is(pg_temp.adft(pg_temp.f(42, '{"sodt": "2026-03-11T10:00:00+08:00"}')) || ' ' || pg_temp.life(42), 'SUCCEEDED ACTIVE v1 of 2026-03-10', 'the airport''s zone decides');
select is(pg_temp.adft(pg_temp.f(0, '{"flno": "Z"}')) || pg_temp.adft(pg_temp.f(999999999999)) || pg_temp.told(), 'SUCCEEDEDSUCCEEDED999999999999 v1 []', 'FLIDs from 0 to twelve nines');
select is((select array_agg(e.partition_key order by e.flid) from outbox.msg_event e where e.target = 'KAFKA:schd' and e.flid in (0, 999999999999)), '{0,999999999999}'::text[],
  'the key is the FLID as decimal text');
select * from finish();
rollback;
