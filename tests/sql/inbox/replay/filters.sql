-- By class, state, type and range of ids; they narrow one another, and each replays only what is replayable.
begin;
\ir ../common.psql
select plan(11);
select pg_temp.message(1, 'DEAD', 'INFRA', '{"type": "FLOP"}'), pg_temp.message(2, 'DEAD', 'EXHAUSTED', '{"type": "SCHD"}'), pg_temp.message(3, 'DEAD', 'PROTOCOL', '{"type": "SCHD"}'),
  pg_temp.message(4, 'FAILED', 'INFRA', '{"type": "SCHD"}'), pg_temp.message(5, 'PENDING'), pg_temp.message(6, 'DEAD', 'CODEC_ERROR');
create function pg_temp.chosen(p_classes text[] default null, p_states text[] default null, p_type text default null, p_from bigint default null, p_to bigint default null,
  p_ids bigint[] default null) returns text
language sql as $fn$ select string_agg(r.msg_id::text, ' ') from inbox.replay(p_ids, p_classes, p_states, p_type, p_from, p_to) r $fn$;
select is(pg_temp.chosen(array['INFRA']), '1 4', 'by class');
select is(pg_temp.chosen(array['INFRA', 'CODEC_ERROR'], array['DEAD']), '1 6', 'and state');
select is(pg_temp.chosen(p_type => 'schd'), '2 4', 'by type, any case');
select is(pg_temp.chosen(p_from => 2, p_to => 4), '2 4', 'by range');
select is(pg_temp.chosen(p_from => 3), '4 6', 'open at one end');
select is(pg_temp.chosen(array['INFRA'], p_ids => array[1, 2, 6]), '1', 'ids, narrowed');
select is(pg_temp.chosen(array['UNSUPPORTED']), null, 'none');
select is(pg_temp.chosen(array['PROTOCOL']), '3', 'PROTOCOL by its name');
select is(pg_temp.chosen(p_ids => array[1, 3], p_from => 2), '3', 'or its id');
select is((select string_agg(r.msg_id::text, ' ') from inbox.replay(p_from => 1, p_dry_run => false) r), '1 2 4 6', 'for good');
select is((select string_agg(m.msg_id::text, ' ' order by m.msg_id) from inbox.proc_state m where m.state = 'PENDING'), '1 2 4 5 6', 'those, and no other');
select * from finish();
rollback;
