-- A message that could not be decoded: whose it was is kept where that much could be read, and no identity is bound (design 11.15).
begin;
\ir ../../flights.psql
select plan(4);
select pg_temp.stage('FLOP', '{}', '{"kind": null, "verdict": "MALFORMED", "reason": "MAXP is ''z''", "digest": null}');
select pg_temp.step();
select is((select row(m.state, m.error_class, m.last_error)::text from inbox.proc_state m where m.msg_id = pg_temp.last()), '(DEAD,MALFORMED,"MAXP is ''z''")', 'ended');
select is((select concat_ws('|', m.sndr, m.type, m.styp, m.seqn) from inbox.proc_state m where m.msg_id = pg_temp.last()), 'AODB|FLOP|FLOP|1', 'its META is kept');
select is((select m.identity_key from inbox.proc_state m where m.msg_id = pg_temp.last()), null, 'no identity');
select pg_temp.stage('FLOP', '{}', '{"kind": null, "verdict": "MALFORMED", "reason": "no prolog", "digest": null, "sndr": null, "type": null, "styp": null, "seqn": null}');
select pg_temp.step();
select is((select concat_ws('|', m.sndr, m.type, m.state) from inbox.proc_state m where m.msg_id = pg_temp.last()), 'DEAD', 'where nothing could be read there is nothing');
select * from finish();
rollback;
