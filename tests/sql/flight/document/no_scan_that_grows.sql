-- With 20,000 flights in the tables, what one message or one question does is found by index: no scan of a table that grows
-- (implementation.md 11.4: MAID needs an index). Counted by the server's own statistics of this transaction, and seen in EXPLAIN.
begin;
\ir ../../flights.psql
select plan(31);

insert into flight.flight_schd (flid, state_version, updated_at, operation_day, last_message_id, created_at, flno, sodt, maid)
select i, 1, core.now(), date '2026-03-01' + i / 1000, 1, core.now(), 'CA' || i, timestamptz '2026-03-01 10:00+08' + make_interval(days => i / 1000),
  case when i % 10 = 0 then i - 1 end
from generate_series(1, 20000) i;
insert into flight.flight_gate (flid, ordinal, gate) select i, o, 'G' || o from generate_series(1, 20000) i, generate_series(1, 2) o;
insert into flight.flight_checkin (flid, ordinal, chkc) select i, 1, 'C' from generate_series(1, 20000) i;
insert into flight.flight_belt (flid, ordinal, belt) select i, 1, 'B' from generate_series(1, 20000) i;
insert into flight.flight_chute (flid, ordinal, chut) select i, 1, 'H' from generate_series(1, 20000) i;
insert into flight.flight_stand (flid, ordinal, psst) select i, 1, 'S' from generate_series(1, 20000) i;
insert into flight.flight_chock (flid, ordinal, chid) select i, 1, 'K' from generate_series(1, 20000) i;
insert into flight.flight_delay (flid, ordinal, code) select i, 1, '11' from generate_series(1, 20000) i;
insert into flight.flight_bridge (flid, ordinal, abdg) select i, 1, 'D' from generate_series(1, 20000) i;
insert into flight.flight_route_point (flid, route_kind, ordinal, apcd) select i, k, 1, 'SZX' from generate_series(1, 20000) i, unnest('{ROUT,ERUT}'::text[]) k;
insert into flight.flight_section (flid, section, ordinal, content, message_id, seen_at) select i, 'SRVT', 1, '', 1, core.now() from generate_series(1, 20000) i;
insert into flight.flid_version (flid, state_version, removed_at) select i, 1, core.now() from generate_series(30001, 50000) i;
insert into ledger.schd_gen (operation_day, version, last_message_id, last_recv_at) select date '2026-03-01' + i, 1, 1, core.now() from generate_series(0, 20) i;
insert into ledger.schd_gen_flid (operation_day, flid) select f.operation_day, f.flid from flight.flight_schd f;
insert into request.req_track (request_type, operation_day, sndr, state, created_at, created_by)
select 'PLAN', date '2020-01-01' + i % 1000, 'AODB', 'DONE', core.now(), 'x' from generate_series(1, 20000) i;
insert into outbox.msg_event (event_id, target, flid, event_type, state_version, message_id, state, next_attempt_at, created_at, updated_at)
select nextval('outbox.event_id'), t, i, 'UPSERT', 1, 1, 'SENT', core.now(), core.now(), core.now() from generate_series(1, 20000) i, unnest('{KAFKA:msg,KAFKA:schd}'::text[]) t;
insert into inbox.proc_state (msg_id, state, enqueued_at, updated_at, identity_key, digest)
select i, 'SUCCEEDED', core.now(), core.now(), 'OLD|' || i, '\x00' from generate_series(1, 20000) i;
update inbox.queue_head set finished_through = 20000;
analyze;

create temp table seen (relation text primary key, scans bigint);
-- Does something, and names the tables of ours that were read from end to end by it.
create function pg_temp.scans(p_sql text) returns text
language plpgsql as $fn$
declare
  v_result text;
begin
  delete from seen;
  insert into seen select s.schemaname || '.' || s.relname, s.seq_scan from pg_stat_xact_user_tables s;
  execute p_sql into v_result;
  return concat_ws(' ', v_result,
    (select string_agg(s.schemaname || '.' || s.relname, ' ' order by s.relname)
     from pg_stat_xact_user_tables s left join seen b on b.relation = s.schemaname || '.' || s.relname
     where s.seq_scan > coalesce(b.scans, 0)
       and s.schemaname || '.' || s.relname in (
         'flight.flight_schd', 'flight.flight_gate', 'flight.flight_checkin', 'flight.flight_belt', 'flight.flight_chute', 'flight.flight_stand',
         'flight.flight_chock', 'flight.flight_delay', 'flight.flight_bridge', 'flight.flight_route_point', 'flight.flight_section', 'flight.flid_version',
         'ledger.schd_gen_flid', 'request.req_track', 'outbox.msg_event_msg', 'outbox.msg_event_schd', 'inbox.proc_state')));
end
$fn$;

select is(pg_temp.scans('select count(*) from flight.flight_schd'), '20000 flight.flight_schd', 'the counting works');

create function pg_temp.messages(p_policy text, p_base integer) returns setof text
language plpgsql as $fn$
begin
  return next is(pg_temp.scans(format('select pg_temp.flop(%s, %L, %L)', p_base, 'ESTT', '{"estt": "2026-03-10T11:00:00+08:00"}')), 'SUCCEEDED', p_policy || ': FLOP');
  return next is(pg_temp.scans(format('select pg_temp.flop(%s, %L, %L, %L)', p_base, 'CHOT', '{}', '{"CHOT": [{"chid": "X"}], "ROUT": [], "DELY": [], "ABTM": []}')), 'SUCCEEDED',
    p_policy || ': FLOP with sets');
  return next is(pg_temp.scans(format('select pg_temp.flop(%s, %L, %L)', p_base + 1, 'FLNO', '{"flno": "X"}')), 'SUCCEEDED', p_policy || ': a code share renamed');
  return next is(pg_temp.scans(format('select pg_temp.flop(%s, %L, %L)', p_base + 1, 'MAID', '{"maid": 7}')), 'SUCCEEDED', p_policy || ': re-pointed');
  return next is(pg_temp.scans(format('select pg_temp.adft(pg_temp.f(%s, %L))', p_base + 100000, '{"flno": "X"}')), 'SUCCEEDED', p_policy || ': ADFT of a new flight');
  return next is(pg_temp.scans(format('select pg_temp.dnld(pg_temp.p(%s, %L), pg_temp.p(%s, %L))', p_base, '2026-03-11', p_base + 200000, '2026-03-11')), 'SUCCEEDED', p_policy || ': a small plan');
  return next is(pg_temp.scans(format('select pg_temp.fdel(%s)', p_base + 10)), 'SUCCEEDED', p_policy || ': FDEL of a main');
  return next is(pg_temp.scans(format('select pg_temp.fdel(%s)', p_base + 21)), 'SUCCEEDED', p_policy || ': FDEL of a child');
  return next is(pg_temp.scans(format('select pg_temp.fdel(%s)', 777777777)), 'SUCCEEDED', p_policy || ': FDEL of an unknown flight');
end
$fn$;
select pg_temp.messages('retain', 10009);
select pg_temp.policy('ledger');
select pg_temp.messages('ledger', 10109);

select is(pg_temp.scans('select pg_temp.step()'), 'IDLE', 'looking for the head');
select is(pg_temp.scans('select count(*) from flight.document(''{5,77,15000}'')'), '3', 'three documents');
select is(pg_temp.scans('select count(*) from flight.document_page(10000, 50)'), '50', 'a page');
select is(pg_temp.scans('select count(*) from flight.document(array(select generate_series(1, 100)))'), '100', 'a hundred documents');
select is(pg_temp.scans('select count(*) from flight.mafl(''{9,19,29}'')'), '3', 'MAFL of three');
select is(pg_temp.scans('select pg_temp.send(''SCHD_RESP'', array[pg_temp.p(11000, ''2026-03-12'')])'), 'SUCCEEDED', 'an answer looks for its request');

create function pg_temp.explained(p_sql text) returns text
language plpgsql as $fn$
declare
  v_line text;
  v_plan text := '';
begin
  for v_line in execute 'explain (costs off) ' || p_sql loop
    v_plan := v_plan || v_line || E'\n';
  end loop;
  return v_plan;
end
$fn$;
select matches(pg_temp.explained('select from flight.flight_schd c where c.maid = 9 and c.state = ''ACTIVE'''), 'flight_schd_main', 'children are found by the index on MAID');
select matches(pg_temp.explained('select from inbox.proc_state m where m.msg_id > 20000 and m.state in (''PENDING'', ''FAILED'') order by m.msg_id limit 1'), 'proc_state_unfinished', 'the head by its own index');
select matches(pg_temp.explained('select from flight.flight_gate g where g.flid = 9'), 'flight_gate_pkey', 'details by their key');
select matches(pg_temp.explained('select from ledger.schd_gen_flid o where o.operation_day = ''2026-03-11'''), 'schd_gen_flid_pkey', 'a roster by its day');
select matches(pg_temp.explained('select from inbox.proc_state m where m.identity_key = ''OLD|7'''), 'proc_state_identity_key', 'an identity by its key');
select matches(pg_temp.explained('select from flight.flight_schd f where f.flid > 10000 and f.state = ''ACTIVE'' order by f.flid limit 50'), 'flight_schd_pkey', 'a page by the key');
select * from finish();
rollback;
