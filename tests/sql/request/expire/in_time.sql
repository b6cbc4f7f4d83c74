-- Open requests are closed when nothing answered them in time; only by the leader.
begin;
\ir ../../flights.psql
select plan(8);

select request.open_plan('2026-03-10', 'AODB');
set local msgx.now to '2026-03-10 07:00:00+08';
select request.open_plan('2026-03-11', 'AODB'), request.open_plan('2026-03-12', 'AODB'), request.open_plan('2026-03-13', 'AODB');
update request.req_track set state = 'SENT', sent_at = core.now() where operation_day = '2026-03-12';
update request.req_track set state = 'DONE' where operation_day = '2026-03-13';
set local msgx.now to '2026-03-11 05:59:59+08';
select is(request.expire(1), 0, 'none is old enough');
set local msgx.now to '2026-03-11 06:00:00+08';
select is(request.expire(1), 1, 'one is');
select is((select array_agg(q.state order by q.request_id) from request.req_track q), '{EXPIRED,PENDING,SENT,DONE}'::text[], 'that one');
set local msgx.now to '2026-03-12 06:00:00+08';
select is(request.expire(1), 2, 'pending and sent alike');
select is((select array_agg(q.state order by q.request_id) from request.req_track q), '{EXPIRED,EXPIRED,EXPIRED,DONE}'::text[], 'an answered one never');
select is((select count(*) from request.req_track q where q.expired_at = core.now()), 2::bigint, 'with the time');
select is(request.expire(1), 0, 'once');
select throws_ok('select request.expire(0)', 'MX010', 'leader epoch 0 is over', 'a deposed leader closes nothing');
select * from finish();
rollback;
