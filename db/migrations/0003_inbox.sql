-- Watermark, holes, one row a message, and the staging tables that COPY fills.
-- depends: 0002_core

set local lock_timeout = '5s';
set local role msgx_owner;

create table inbox.inbox_cursor (
  only_row boolean primary key default true check (only_row),
  watermark bigint not null default 0 check (watermark >= 0),
  hole_since timestamptz,
  hole_first_id bigint,
  seeded_at timestamptz,
  seeded_how text,
  seeded_to bigint,
  advanced_at timestamptz,
  read_at timestamptz,
  check ((hole_since is null) = (hole_first_id is null))
) with (fillfactor = 50);
comment on table inbox.inbox_cursor is 'How far the mailbox has been read without a gap (implementation.md 4)';
comment on column inbox.inbox_cursor.only_row is 'Keeps the table at one row';
comment on column inbox.inbox_cursor.watermark is 'W: every id up to it has been admitted or released as a hole';
comment on column inbox.inbox_cursor.hole_since is 'When we first saw that W + 1 is missing while a later id is there; our clock, survives restarts';
comment on column inbox.inbox_cursor.hole_first_id is 'The missing id that hole_since speaks of; another one starts its own clock';
comment on column inbox.inbox_cursor.seeded_at is 'When msgx seed set W; null where nobody did';
comment on column inbox.inbox_cursor.seeded_how is 'min, zero, max or the id';
comment on column inbox.inbox_cursor.seeded_to is 'W as seeding set it; ids up to it were left out on purpose';
comment on column inbox.inbox_cursor.advanced_at is 'When W last moved';
comment on column inbox.inbox_cursor.read_at is 'When the mailbox was last read with success';
insert into inbox.inbox_cursor default values;

create table inbox.queue_head (
  only_row boolean primary key default true check (only_row),
  finished_through bigint not null default 0
) with (fillfactor = 50);
comment on table inbox.queue_head is 'Where the search for the smallest unfinished message starts, so that dead index entries behind it cost nothing; apart from inbox_cursor, which intake holds while it copies';
comment on column inbox.queue_head.only_row is 'Keeps the table at one row';
comment on column inbox.queue_head.finished_through is 'No message up to this id is unfinished';
insert into inbox.queue_head default values;

create table inbox.hole (
  first_id bigint primary key,
  last_id bigint not null check (last_id >= first_id),
  first_seen_at timestamptz not null,
  released_at timestamptz not null
);
comment on table inbox.hole is 'Missing ids that were waited for in vain and passed over';
comment on column inbox.hole.first_id is 'First missing id';
comment on column inbox.hole.last_id is 'Last of the adjacent missing ids';
comment on column inbox.hole.first_seen_at is 'When the wait began';
comment on column inbox.hole.released_at is 'When W moved past it';

create table inbox.proc_state (
  msg_id bigint primary key check (msg_id > 0),
  state text not null default 'PENDING' check (state in ('PENDING', 'FAILED', 'SUCCEEDED', 'SKIPPED', 'DEAD', 'ARCHIVED')),
  error_class text check (error_class in ('MALFORMED', 'CODEC_ERROR', 'PROTOCOL', 'UNSUPPORTED', 'INFRA', 'EXHAUSTED')),
  last_error text,
  error_sqlstate text,
  identity_key text unique,
  digest bytea,
  sndr text,
  type text,
  styp text,
  seqn text,
  attempts integer not null default 0,
  next_attempt_at timestamptz,
  unmapped jsonb,
  flids bigint[],
  received_at timestamptz,
  enqueued_at timestamptz not null,
  updated_at timestamptz not null,
  finished_at timestamptz,
  replays integer not null default 0,
  backfill_next_at timestamptz,
  backfill_at timestamptz,
  backfill_outcome text check (backfill_outcome in ('WRITTEN', 'ALREADY')),
  backfill_attempts integer not null default 0,
  backfill_error text,
  backfill_claim_epoch bigint,
  backfill_claimed_at timestamptz,
  backfill_abandoned_at timestamptz,
  backfill_abandoned_reason text check (backfill_abandoned_reason in ('MISSING_ROW', 'TRANSIENT_DEADLINE')),
  backfill_acknowledged_at timestamptz,
  backfill_acknowledged_by text,
  backfill_acknowledged_note text,
  check ((backfill_abandoned_at is null) = (backfill_abandoned_reason is null)),
  check (state <> 'SUCCEEDED' and state <> 'SKIPPED' or error_class is null),
  check (state <> 'DEAD' and state <> 'FAILED' or error_class is not null)
) with (fillfactor = 70);
create index proc_state_unfinished on inbox.proc_state (msg_id) where state in ('PENDING', 'FAILED');
create index proc_state_owed on inbox.proc_state (backfill_attempts, msg_id)
  where backfill_at is null and backfill_abandoned_at is null and state in ('SUCCEEDED', 'SKIPPED', 'DEAD');
create index proc_state_dead on inbox.proc_state (msg_id) where state = 'DEAD';
create index proc_state_abandoned on inbox.proc_state (msg_id) where backfill_abandoned_at is not null;
comment on table inbox.proc_state is 'One row a mailbox row: how far it is, how it ended, and the mark it is owed (implementation.md 1.2, 3, 6)';
comment on column inbox.proc_state.msg_id is 'CMINMSGS_ID; the only thing that decides order';
comment on column inbox.proc_state.state is 'PENDING and FAILED hold the queue; SUCCEEDED, SKIPPED, DEAD are terminal; ARCHIVED is a shadow that remembers an identity';
comment on column inbox.proc_state.error_class is 'Why FAILED or DEAD; EXHAUSTED hides the class that wore it out, last_error keeps the reason';
comment on column inbox.proc_state.last_error is 'The reason of the last failure or of the ending: raw-missing, duplicate-of:<id>, ignored:<rule>, unmapped:<STYP>, or a sentence';
comment on column inbox.proc_state.error_sqlstate is 'SQLSTATE of the last failure, where it came from the database';
comment on column inbox.proc_state.identity_key is 'SNDR|TYPE|STYP|SEQN, bound once and kept over retries and replays';
comment on column inbox.proc_state.digest is 'sha256 of the decoded content, to tell a resend from another body under the same identity';
comment on column inbox.proc_state.sndr is 'META.SNDR';
comment on column inbox.proc_state.type is 'META.TYPE';
comment on column inbox.proc_state.styp is 'META.STYP';
comment on column inbox.proc_state.seqn is 'META.SEQN';
comment on column inbox.proc_state.attempts is 'Failed tries since admission or the last replay';
comment on column inbox.proc_state.next_attempt_at is 'FAILED: when the next try is due';
comment on column inbox.proc_state.unmapped is 'Tags no catalogue row names, with their count';
comment on column inbox.proc_state.flids is 'DEAD: the flights it named, as far as it was decoded, so that a replay''s dry run can tell what ran after it';
comment on column inbox.proc_state.received_at is 'The mailbox''s own receive time; null or wrong at times, decides nothing';
comment on column inbox.proc_state.enqueued_at is 'When we admitted it; the base of every deadline';
comment on column inbox.proc_state.updated_at is 'Last change of state or mark';
comment on column inbox.proc_state.finished_at is 'When it became terminal';
comment on column inbox.proc_state.replays is 'How often an operator sent it through again';
comment on column inbox.proc_state.backfill_next_at is 'A mark is owed, and tried again from then on';
comment on column inbox.proc_state.backfill_at is 'The mark is confirmed';
comment on column inbox.proc_state.backfill_outcome is 'WRITTEN by us, or ALREADY there';
comment on column inbox.proc_state.backfill_attempts is 'Tries to write the mark';
comment on column inbox.proc_state.backfill_error is 'What the last try met';
comment on column inbox.proc_state.backfill_claim_epoch is 'Leader that is writing the mark at this moment; a replay waits for it';
comment on column inbox.proc_state.backfill_claimed_at is 'Since when';
comment on column inbox.proc_state.backfill_abandoned_at is 'Given up; not the same as confirmed';
comment on column inbox.proc_state.backfill_abandoned_reason is 'MISSING_ROW or TRANSIENT_DEADLINE';
comment on column inbox.proc_state.backfill_acknowledged_at is 'When a person reconciled an abandoned mark';
comment on column inbox.proc_state.backfill_acknowledged_by is 'Who did';
comment on column inbox.proc_state.backfill_acknowledged_note is 'What was found';

create table inbox.stage_message (
  msg_id bigint primary key,
  kind text check (kind in ('SCHD_DNLD', 'SCHD_RESP', 'SCHD_ADFT', 'FLOP', 'FDEL', 'REFDATA', 'RSTA', 'OTHER')),
  sndr text,
  type text,
  styp text,
  seqn text,
  dttm timestamptz,
  digest bytea,
  declared text,
  record_count integer not null default 0,
  verdict text check (verdict in ('MALFORMED', 'CODEC_ERROR')),
  reason text,
  unmapped jsonb,
  has_payload boolean not null default false,
  staged_at timestamptz not null default clock_timestamp(),
  check ((verdict is null) = (kind is not null)),
  check ((verdict is null) = (reason is null))
);
comment on table inbox.stage_message is 'A decoded message until it ends, or the verdict that it cannot be decoded';
comment on column inbox.stage_message.msg_id is 'CMINMSGS_ID';
comment on column inbox.stage_message.kind is 'What decides the dispatch (implementation.md 2); null with a verdict';
comment on column inbox.stage_message.sndr is 'META.SNDR';
comment on column inbox.stage_message.type is 'META.TYPE';
comment on column inbox.stage_message.styp is 'META.STYP';
comment on column inbox.stage_message.seqn is 'META.SEQN';
comment on column inbox.stage_message.dttm is 'META.DTTM';
comment on column inbox.stage_message.digest is 'sha256 of the decoded content';
comment on column inbox.stage_message.declared is 'RECS as sent';
comment on column inbox.stage_message.record_count is 'Records that came';
comment on column inbox.stage_message.verdict is 'MALFORMED or CODEC_ERROR';
comment on column inbox.stage_message.reason is 'Why';
comment on column inbox.stage_message.unmapped is 'Tags no catalogue row names, with their count';
comment on column inbox.stage_message.has_payload is 'FLOP: something besides FLID and FFID stood in it';
comment on column inbox.stage_message.staged_at is 'When it was copied';

create table inbox.stage_record (
  msg_id bigint not null,
  ordinal integer not null,
  flid bigint,
  flid_text text,
  scalars jsonb not null default '{}',
  extra jsonb not null default '{}',
  sets jsonb not null default '{}',
  sections jsonb not null default '{}',
  primary key (msg_id, ordinal)
);
comment on table inbox.stage_record is 'The flights or reference records of a staged message; no key = absent, JSON null or [] = explicitly empty';
comment on column inbox.stage_record.msg_id is 'CMINMSGS_ID';
comment on column inbox.stage_record.ordinal is 'Place in the message, from 1';
comment on column inbox.stage_record.flid is 'FLID, if it is 1 to 12 digits';
comment on column inbox.stage_record.flid_text is 'FLID as sent';
comment on column inbox.stage_record.scalars is 'Columns of flight.flight_schd, typed by the catalogue';
comment on column inbox.stage_record.extra is 'Scalars of the site, by their tag';
comment on column inbox.stage_record.sets is 'Sets by tag, elements in message order';
comment on column inbox.stage_record.sections is 'SRVT and VIPF as sent';

grant insert on inbox.stage_message, inbox.stage_record to msgx_app;

reset role;
