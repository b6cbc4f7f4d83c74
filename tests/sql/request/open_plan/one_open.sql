-- One request is open for each (type, day, sender): a new one closes the older (implementation.md 1.2, 7.2).
begin;
\ir ../../flights.psql
select plan(11);

create function pg_temp.requests() returns text
language sql as $fn$ select string_agg(format('%s %s %s', q.operation_day, coalesce(nullif(q.sndr, ''), 'any'), q.state), ', ' order by q.request_id) from request.req_track q $fn$;
select isnt(request.open_plan('2026-03-10', 'AODB'), null, 'its id');
select is(pg_temp.requests(), '2026-03-10 AODB PENDING', 'pending');
select is((select row(q.created_at = core.now(), q.created_by = session_user, q.request_type, q.sent_at)::text from request.req_track q), '(t,t,PLAN,)', 'by whom and when');
select request.open_plan('2026-03-10', 'AODB');
select is(pg_temp.requests(), '2026-03-10 AODB EXPIRED, 2026-03-10 AODB PENDING', 'the same again closes the older');
select is((select q.expired_at = core.now() from request.req_track q order by q.request_id limit 1), true, 'with the time');
select request.open_plan('2026-03-11', 'AODB'), request.open_plan('2026-03-10', 'OTHER'), request.open_plan('2026-03-10');
select is(pg_temp.requests(), '2026-03-10 AODB EXPIRED, 2026-03-10 AODB PENDING, 2026-03-11 AODB PENDING, 2026-03-10 OTHER PENDING, 2026-03-10 any PENDING', 'another day or sender is another request');
update request.req_track set state = 'SENT', sent_at = core.now() where sndr = '';
select request.open_plan('2026-03-10', null);
select is((select array_agg(q.state order by q.request_id) from request.req_track q where q.sndr = ''), '{EXPIRED,PENDING}'::text[], 'a sent one is open too');
update request.req_track set state = 'DONE' where sndr = 'OTHER';
select request.open_plan('2026-03-10', 'OTHER');
select is((select array_agg(q.state order by q.request_id) from request.req_track q where q.sndr = 'OTHER'), '{DONE,PENDING}'::text[], 'an answered one stays answered');
select throws_ok($$insert into request.req_track (request_type, operation_day, sndr, created_at, created_by) values ('PLAN', '2026-03-10', 'OTHER', now(), 'x')$$, '23505', null,
  'the table itself allows one');
select is((select count(*) from core.alert), 0::bigint, 'no alert');
select is(has_function_privilege('msgx_operator', 'request.open_plan(date, text)', 'execute'), true, 'an operator may ask');
select * from finish();
rollback;
