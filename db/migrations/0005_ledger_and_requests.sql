-- Rosters of the day plans, the trace of every plan, and what we asked the AODB.
-- depends: 0004_flight

set local lock_timeout = '5s';
set local role msgx_owner;

create table ledger.schd_gen (
  operation_day date primary key,
  version bigint not null check (version > 0),
  last_message_id bigint not null,
  last_recv_at timestamptz not null
);
comment on table ledger.schd_gen is 'One row an operational day: which plan last covered it as a whole (flight-state.md 4)';
comment on column ledger.schd_gen.operation_day is 'The day';
comment on column ledger.schd_gen.version is 'Generation of its roster; grows by one with each plan that covers the day';
comment on column ledger.schd_gen.last_message_id is 'The plan that made this generation; the same one again is a replay';
comment on column ledger.schd_gen.last_recv_at is 'When it was committed';

create table ledger.schd_gen_flid (
  operation_day date not null references ledger.schd_gen on delete cascade,
  flid bigint not null,
  primary key (operation_day, flid),
  unique (flid)
);
comment on table ledger.schd_gen_flid is 'The roster: every FLID that the day''s last covering plan named; days are disjoint';
comment on column ledger.schd_gen_flid.operation_day is 'The day';
comment on column ledger.schd_gen_flid.flid is 'The flight';

create table ledger.plan_sequence (
  sndr text primary key,
  seqn text not null,
  dttm timestamptz,
  message_id bigint not null
);
comment on table ledger.plan_sequence is 'The last plan of each sender, to notice SEQN and DTTM running backwards; decides nothing';
comment on column ledger.plan_sequence.sndr is 'META.SNDR';
comment on column ledger.plan_sequence.seqn is 'META.SEQN';
comment on column ledger.plan_sequence.dttm is 'META.DTTM';
comment on column ledger.plan_sequence.message_id is 'The plan';

create table ledger.schd_snap_log (
  log_id bigint generated always as identity primary key,
  operation_day date,
  msg_id bigint not null,
  recv_at timestamptz not null,
  recs integer,
  covering boolean not null,
  old_version bigint,
  new_version bigint,
  deleted_count integer not null default 0,
  would_delete_count integer not null default 0,
  would_delete bigint[],
  result text not null check (result in ('COMMITTED', 'REPLAY_SKIPPED', 'ROLLED_BACK')),
  flags text[] not null default '{}',
  reason text,
  old_flid_digest bytea,
  new_flid_digest bytea,
  archive_key text,
  duration_ms numeric
);
create index schd_snap_log_day on ledger.schd_snap_log (operation_day, recv_at);
create index schd_snap_log_message on ledger.schd_snap_log (msg_id);
comment on table ledger.schd_snap_log is 'A trace of every attempt at a day plan, a row a day; written after the commit, read by people, decides nothing (flight-state.md 5.6)';
comment on column ledger.schd_snap_log.log_id is 'Order of writing';
comment on column ledger.schd_snap_log.operation_day is 'The day; null if the plan was refused before its days were known';
comment on column ledger.schd_snap_log.msg_id is 'The plan';
comment on column ledger.schd_snap_log.recv_at is 'When it was tried';
comment on column ledger.schd_snap_log.recs is 'Records of this day in the plan';
comment on column ledger.schd_snap_log.covering is 'Whether the plan covered the whole day, and so moved its roster';
comment on column ledger.schd_snap_log.old_version is 'Roster generation before; null if there was none or the day was not covered';
comment on column ledger.schd_snap_log.new_version is 'Roster generation after';
comment on column ledger.schd_snap_log.deleted_count is 'Flights deleted as O - N';
comment on column ledger.schd_snap_log.would_delete_count is 'Under KEEP: flights that O - N would have deleted';
comment on column ledger.schd_snap_log.would_delete is 'Their FLIDs';
comment on column ledger.schd_snap_log.result is 'COMMITTED, REPLAY_SKIPPED or ROLLED_BACK';
comment on column ledger.schd_snap_log.flags is 'EMPTY, RECS_DROP, OUT_OF_ORDER, SEQN_REGRESSION, DAY_MISMATCH';
comment on column ledger.schd_snap_log.reason is 'ROLLED_BACK: why';
comment on column ledger.schd_snap_log.old_flid_digest is 'sha256 of the roster before, FLIDs ascending';
comment on column ledger.schd_snap_log.new_flid_digest is 'sha256 of this day''s FLIDs in the plan, ascending';
comment on column ledger.schd_snap_log.archive_key is 'Where the raw message is kept; null while raw messages are not archived';
comment on column ledger.schd_snap_log.duration_ms is 'How long the attempt took';

create type flight.outcome as (
  state text,
  note text,
  trace ledger.schd_snap_log[]
);
comment on type flight.outcome is 'How a message that was not refused ends: SUCCEEDED or SKIPPED, the note kept with it, and the traces of a plan';

create table request.req_track (
  request_id bigint generated always as identity primary key,
  request_type text not null check (request_type in ('PLAN')),
  operation_day date not null,
  sndr text not null,
  state text not null default 'PENDING' check (state in ('PENDING', 'SENT', 'DONE', 'EXPIRED')),
  outbound_id bigint,
  created_at timestamptz not null,
  created_by text not null,
  sent_at timestamptz,
  done_at timestamptz,
  done_message_id bigint,
  expired_at timestamptz
);
create unique index req_track_open on request.req_track (request_type, operation_day, sndr) where state in ('PENDING', 'SENT');
comment on table request.req_track is 'What we asked the AODB: at most one open request for each (type, day, sender) (implementation.md 7.2)';
comment on column request.req_track.request_id is 'Order of asking';
comment on column request.req_track.request_type is 'PLAN: the plan of one operational day';
comment on column request.req_track.operation_day is 'The day asked for';
comment on column request.req_track.sndr is 'Whose answer it is; empty = any sender''s';
comment on column request.req_track.state is 'PENDING, SENT, DONE, EXPIRED; the first two are open';
comment on column request.req_track.outbound_id is 'COUTMSGS_ID of the request';
comment on column request.req_track.created_at is 'When it was opened';
comment on column request.req_track.created_by is 'By whom';
comment on column request.req_track.sent_at is 'When the outbound mailbox had it';
comment on column request.req_track.done_at is 'When its answer was applied';
comment on column request.req_track.done_message_id is 'The answer';
comment on column request.req_track.expired_at is 'When it was closed without an answer';

reset role;
