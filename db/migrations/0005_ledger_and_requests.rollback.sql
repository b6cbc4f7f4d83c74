set local lock_timeout = '5s';
set local role msgx_owner;
drop table request.req_track cascade;
drop type flight.outcome cascade;
drop table ledger.schd_snap_log, ledger.plan_sequence, ledger.schd_gen_flid, ledger.schd_gen cascade;
reset role;
