-- Records in the order of the message, each with the day that its SODT gives it.
begin;
\ir ../../flights.psql
select plan(4);

create function pg_temp.read(variadic p_records jsonb[]) returns text
language plpgsql as $fn$
declare
  v_id constant bigint := pg_temp.stage('SCHD_DNLD', p_records);
begin
  return (select string_agg(concat_ws(':', r.flid, r.operation_day, r.sets, r.extra), ' ')
    from unnest(flight.incoming_records((select s from inbox.stage_message s where s.msg_id = v_id), (select s from core.setting s))) r);
end
$fn$;
select is(pg_temp.read(pg_temp.p(3), pg_temp.f(1), pg_temp.p(2, '2026-03-11')), '3:2026-03-10:{}:{} 1:{}:{} 2:2026-03-11:{}:{}', 'order and days');
select is(pg_temp.read(pg_temp.f(1, '{"sodt": null}', '{"GTDT": []}', '{"RUNW": null}')), '1:{"GTDT": []}:{"RUNW": null}', 'empty is not absent');
select is(pg_temp.read(variadic '{}'), null, 'none');
update core.setting set airport_day_cutover = '11:00';
select is(pg_temp.read(pg_temp.p(3)), '3:2026-03-09:{}:{}', 'by the cut-over of the setting');
select * from finish();
rollback;
