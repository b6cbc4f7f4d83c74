-- Settings, leadership, duties, alerts, and what is deployed.
-- depends: 0001_rooms_and_roles

set local lock_timeout = '5s';
set local role msgx_owner;

create table core.setting (
  only_row boolean primary key default true check (only_row),

  -- the airport
  airport_timezone text not null default 'Asia/Shanghai',
  airport_day_cutover time not null default '00:00',

  -- intake
  pipeline_claim_batch integer not null default 200 check (pipeline_claim_batch between 1 and 10000),
  pipeline_max_commit_delay interval not null default '30 s' check (pipeline_max_commit_delay > interval '0'),
  pipeline_max_body_bytes integer not null default 16777216 check (pipeline_max_body_bytes between 1024 and 268435456),
  catalogue_site_scalars text[] not null default
    array['TOBT datetime', 'COBT datetime', 'CTOT datetime', 'EOBT datetime', 'IEST datetime', 'RUNW text 64', 'FLAB text 64'],

  -- pump
  pipeline_commit_messages integer not null default 32 check (pipeline_commit_messages between 1 and 32),
  pipeline_commit_interval interval not null default '50 ms' check (pipeline_commit_interval between interval '0' and interval '1 s'),
  pipeline_ignore text[] not null default array['LDM-*', 'REGN-*', 'RSTA-*', 'EROR-*'],
  identity_include_day_boundary boolean not null default false,
  pipeline_attempts_infra integer not null default 6,
  pipeline_ladder_infra interval[] not null default array['1 s', '5 s', '30 s', '2 min', '10 min']::interval[],
  pipeline_attempts_codec_error integer not null default 6,
  pipeline_ladder_codec_error interval[] not null default array['1 s', '5 s', '30 s', '2 min', '10 min']::interval[],
  pipeline_attempts_unsupported integer not null default 4,
  pipeline_ladder_unsupported interval[] not null default array['1 s', '5 s', '30 s']::interval[],

  -- marks
  pipeline_backfill_batch integer not null default 500 check (pipeline_backfill_batch between 1 and 10000),
  pipeline_backfill_ladder interval[] not null default array['1 s', '5 s', '30 s', '2 min', '10 min']::interval[]
    check (cardinality(pipeline_backfill_ladder) > 0),
  pipeline_backfill_max_attempts integer not null default 10 check (pipeline_backfill_max_attempts > 0),
  pipeline_mark_deadline interval not null default '6 h' check (pipeline_mark_deadline > interval '0'),
  pipeline_keep_window interval not null default '7 days',
  pipeline_shadow boolean not null default false,
  mailbox_marker_succeeded text not null default 'OK' check (mailbox_marker_succeeded <> '' and length(mailbox_marker_succeeded) <= 16),
  mailbox_marker_skipped text not null default 'SKIP' check (mailbox_marker_skipped <> '' and length(mailbox_marker_skipped) <= 16),
  mailbox_marker_dead text not null default 'DEAD' check (mailbox_marker_dead <> '' and length(mailbox_marker_dead) <= 16),

  -- outbox
  pipeline_event_batch integer not null default 1000 check (pipeline_event_batch between 1 and 10000),
  pipeline_event_attempts integer not null default 6,
  pipeline_event_ladder interval[] not null default array['1 s', '5 s', '30 s', '2 min', '10 min']::interval[],
  pipeline_event_retention interval not null default '3 days' check (pipeline_event_retention > interval '0'),
  schd_flush_limit integer not null default 1000 check (schd_flush_limit between 1 and 10000),

  -- day plans and requests
  schd_window_hours integer not null default 48 check (schd_window_hours between 1 and 240),
  schd_trust_window boolean not null default false,
  schd_drop_share numeric not null default 0.3 check (schd_drop_share between 0 and 1),
  request_expiry interval not null default '24 h' check (request_expiry > interval '0'),

  -- where the two specifications disagree (design section 7): eight switches, two presets
  policy_absent_field text not null default 'KEEP' check (policy_absent_field in ('KEEP', 'CLEAR')),
  policy_absent_flight text not null default 'KEEP' check (policy_absent_flight in ('KEEP', 'DELETE')),
  policy_deletion text not null default 'MARK' check (policy_deletion in ('MARK', 'REMOVE')),
  policy_tombstone text not null default 'NULL' check (policy_tombstone in ('NULL', 'JSON')),
  policy_unknown_flop text not null default 'IGNORE' check (policy_unknown_flop in ('IGNORE', 'CREATE')),
  policy_allocation_flop text not null default 'REFUSE' check (policy_allocation_flop in ('REFUSE', 'REPLACE')),
  policy_unasked_resp text not null default 'SKIP' check (policy_unasked_resp in ('SKIP', 'APPLY')),
  policy_code_share text not null default 'LINKED' check (policy_code_share in ('LINKED', 'INDEPENDENT')),
  policy text not null generated always as (
    case
      when policy_absent_field = 'KEEP' and policy_absent_flight = 'KEEP' and policy_deletion = 'MARK'
        and policy_tombstone = 'NULL' and policy_unknown_flop = 'IGNORE' and policy_allocation_flop = 'REFUSE'
        and policy_unasked_resp = 'SKIP' and policy_code_share = 'LINKED' then 'retain'
      when policy_absent_field = 'CLEAR' and policy_absent_flight = 'DELETE' and policy_deletion = 'REMOVE'
        and policy_tombstone = 'JSON' and policy_unknown_flop = 'CREATE' and policy_allocation_flop = 'REPLACE'
        and policy_unasked_resp = 'APPLY' and policy_code_share = 'INDEPENDENT' then 'ledger'
      else 'custom'
    end) stored,

  -- A step that never fires, or an attempt without its step, is a mistake (implementation.md 9.1).
  constraint ladder_infra_fits check (cardinality(pipeline_ladder_infra) = pipeline_attempts_infra - 1),
  constraint ladder_codec_error_fits check (cardinality(pipeline_ladder_codec_error) = pipeline_attempts_codec_error - 1),
  constraint ladder_unsupported_fits check (cardinality(pipeline_ladder_unsupported) = pipeline_attempts_unsupported - 1),
  constraint event_ladder_fits check (cardinality(pipeline_event_ladder) = pipeline_event_attempts - 1),
  constraint mark_deadline_within_window check (pipeline_mark_deadline <= pipeline_keep_window)
);

comment on table core.setting is 'Everything that decides a result, in one row; what only the process needs is in msgx.toml';
comment on column core.setting.only_row is 'Keeps the table at one row';
comment on column core.setting.airport_timezone is 'msgx.airport.timezone: zone of all times in messages and of the offset in what is published';
comment on column core.setting.airport_day_cutover is 'msgx.airport.day-cutover: local time at which an operational day begins; earlier belongs to the day before';
comment on column core.setting.pipeline_claim_batch is 'msgx.pipeline.claim-batch: mailbox rows read in one round; 200 bodies of 10 kB are 2 MB';
comment on column core.setting.pipeline_max_commit_delay is 'msgx.pipeline.max-commit-delay: how long a missing id may still be an uncommitted insert; the mailbox owner must state the real bound, 30 s covers short AODB transactions';
comment on column core.setting.pipeline_max_body_bytes is 'msgx.pipeline.max-body-bytes: a larger body is MALFORMED';
comment on column core.setting.catalogue_site_scalars is 'msgx.catalogue.site-scalars: scalars of this site, in their order in the JSON, each TAG type [length]';
comment on column core.setting.pipeline_commit_messages is 'msgx.pipeline.commit-messages: most messages that share a commit; 32 stays below the 64 subtransactions that fit in a backend''s cache';
comment on column core.setting.pipeline_commit_interval is 'msgx.pipeline.commit-interval: a commit is due after this much work, so that nobody waits longer for a finished message';
comment on column core.setting.pipeline_ignore is 'msgx.pipeline.ignore: TYPE-STYP or TYPE-*, any case; such messages end SKIPPED';
comment on column core.setting.identity_include_day_boundary is 'msgx.identity.include-day-boundary: the day of DTTM is part of the identity, for an AODB whose SEQN starts again each day; never change it in operation';
comment on column core.setting.pipeline_attempts_infra is 'msgx.pipeline.attempts-infra: tries before DEAD(EXHAUSTED) for faults of ours or of the infrastructure';
comment on column core.setting.pipeline_ladder_infra is 'msgx.pipeline.ladder-infra: waits between these tries; a restart or fail-over ends well inside 12 min';
comment on column core.setting.pipeline_attempts_codec_error is 'msgx.pipeline.attempts-codec-error: tries before DEAD(EXHAUSTED) for a body we may learn to read';
comment on column core.setting.pipeline_ladder_codec_error is 'msgx.pipeline.ladder-codec-error: waits between these tries';
comment on column core.setting.pipeline_attempts_unsupported is 'msgx.pipeline.attempts-unsupported: tries before DEAD(EXHAUSTED) for a type without a rule';
comment on column core.setting.pipeline_ladder_unsupported is 'msgx.pipeline.ladder-unsupported: waits between these tries; short, since the airport''s feed stands still meanwhile';
comment on column core.setting.pipeline_backfill_batch is 'msgx.pipeline.backfill-batch: marks written in one round';
comment on column core.setting.pipeline_backfill_ladder is 'msgx.pipeline.backfill-ladder: waits after a mark could not be written; the last one repeats';
comment on column core.setting.pipeline_backfill_max_attempts is 'msgx.pipeline.backfill-max-attempts: raises an alert, decides nothing';
comment on column core.setting.pipeline_mark_deadline is 'msgx.pipeline.mark-deadline (R): older marks are tried every round, and given up as TRANSIENT_DEADLINE when they still fail; 6 h outlasts a night''s maintenance of the mailbox';
comment on column core.setting.pipeline_keep_window is 'msgx.pipeline.keep-window (R_keep): how long the mailbox owner keeps bodies for replay; R may not exceed it';
comment on column core.setting.pipeline_shadow is 'msgx.pipeline.shadow: write no mark into the mailbox, keep every intent';
comment on column core.setting.mailbox_marker_succeeded is 'msgx.mailbox.marker-succeeded: mark of a message that ended SUCCEEDED';
comment on column core.setting.mailbox_marker_skipped is 'msgx.mailbox.marker-skipped: mark of a message that ended SKIPPED';
comment on column core.setting.mailbox_marker_dead is 'msgx.mailbox.marker-dead: mark of a message that ended DEAD';
comment on column core.setting.pipeline_event_batch is 'msgx.pipeline.event-batch: KAFKA:msg events claimed in one round';
comment on column core.setting.pipeline_event_attempts is 'msgx.pipeline.event-attempts: tries before an event is DEAD; trouble of the whole broker counts no try';
comment on column core.setting.pipeline_event_ladder is 'msgx.pipeline.event-ladder: waits between these tries';
comment on column core.setting.pipeline_event_retention is 'msgx.pipeline.event-retention: how long SENT events are kept for looking back';
comment on column core.setting.schd_flush_limit is 'msgx.schd.flush-limit: KAFKA:schd rows claimed in one round';
comment on column core.setting.schd_window_hours is 'msgx.schd.window-hours: length of a scheduled plan''s window from its DTTM (SIS 3.16: about 48 h)';
comment on column core.setting.schd_trust_window is 'msgx.schd.trust-window: a day wholly inside a scheduled plan''s window counts as fully covered';
comment on column core.setting.schd_drop_share is 'msgx.schd.drop-share: a roster that shrinks by more than this share is flagged RECS_DROP; 0.3 is beyond a bad-weather day''s deletions';
comment on column core.setting.request_expiry is 'msgx.request.expiry: an open request is EXPIRED after this; one working day';
comment on column core.setting.policy_absent_field is 'msgx.policy.absent-field: a field absent from a day plan is KEEP (implementation.md 12.1) or CLEAR (flight-state.md 5.4)';
comment on column core.setting.policy_absent_flight is 'msgx.policy.absent-flight: a flight absent from a full day''s plan is KEEP (12.1) or DELETE, O - N (5.5)';
comment on column core.setting.policy_deletion is 'msgx.policy.deletion: a deleted flight''s row is MARK (12.3) or REMOVE, off the roster too (6.2)';
comment on column core.setting.policy_tombstone is 'msgx.policy.tombstone: the state topic''s delete event is NULL (12.4) or JSON with DELETED (7.3)';
comment on column core.setting.policy_unknown_flop is 'msgx.policy.unknown-flop: a FLOP for an unknown flight is IGNORE (12.2) or CREATE (3.5)';
comment on column core.setting.policy_allocation_flop is 'msgx.policy.allocation-flop: GTDT CKDT CLDT CHDT PSDT in a FLOP are REFUSE (12.2) or REPLACE (6.1)';
comment on column core.setting.policy_unasked_resp is 'msgx.policy.unasked-resp: a RESP without an open request is SKIP (7.1) or APPLY (5.2)';
comment on column core.setting.policy_code_share is 'msgx.policy.code-share: main and code-share flights are LINKED by MAFL and cascade (11.4) or INDEPENDENT (3.4)';
comment on column core.setting.policy is 'msgx.policy: the preset that the eight switches add up to: retain, ledger, or custom';

insert into core.setting default values;

create table core.setting_log (
  log_id bigint generated always as identity primary key,
  changed_at timestamptz not null,
  changed_by text not null,
  key text not null,
  old_value text,
  new_value text
);
comment on table core.setting_log is 'Who changed which setting, when, from what to what; written by a trigger, so by hand-made changes too';
comment on column core.setting_log.log_id is 'Order of the changes';
comment on column core.setting_log.changed_at is 'When, on the database''s clock';
comment on column core.setting_log.changed_by is 'The login role';
comment on column core.setting_log.key is 'Column of core.setting';
comment on column core.setting_log.old_value is 'Value before';
comment on column core.setting_log.new_value is 'Value after';

create table core.pipeline_lock (
  name text primary key check (name in ('PIPELINE', 'LEADER')),
  epoch bigint not null default 0,
  holder text,
  acquired_at timestamptz,
  renewed_at timestamptz,
  expires_at timestamptz
) with (fillfactor = 50);
comment on table core.pipeline_lock is 'Two rows to lock: PIPELINE serialises what changes flight state (the pump, history, a deployment); LEADER is the supervisor''s lease';
comment on column core.pipeline_lock.name is 'PIPELINE or LEADER';
comment on column core.pipeline_lock.epoch is 'LEADER: grows with each take-over; every routine that writes names the epoch it acts under';
comment on column core.pipeline_lock.holder is 'LEADER: host and process that holds the lease; null after a clean stop';
comment on column core.pipeline_lock.acquired_at is 'LEADER: when this epoch began';
comment on column core.pipeline_lock.renewed_at is 'LEADER: last renewal';
comment on column core.pipeline_lock.expires_at is 'LEADER: from then on another may take over; the database''s clock judges';
insert into core.pipeline_lock (name) values ('PIPELINE'), ('LEADER');

create table core.duty (
  duty text primary key,
  epoch bigint not null,
  last_run_at timestamptz not null,
  last_success_at timestamptz,
  failures integer not null default 0,
  detail text
) with (fillfactor = 50);
comment on table core.duty is 'When each duty of the supervisor last ran and last succeeded';
comment on column core.duty.duty is 'intake, pump, relay, backfill …';
comment on column core.duty.epoch is 'Leader that reported';
comment on column core.duty.last_run_at is 'Last report';
comment on column core.duty.last_success_at is 'Last report of success';
comment on column core.duty.failures is 'Failed runs since the last success';
comment on column core.duty.detail is 'What went wrong, or what was done';

create table core.alert (
  alert_id bigint generated always as identity primary key,
  code text not null,
  detail text not null,
  raised_at timestamptz not null,
  message_id bigint,
  dedupe_key text unique,
  repeats integer not null default 0,
  acknowledged_at timestamptz,
  acknowledged_by text
);
create index alert_raised on core.alert (raised_at desc);
comment on table core.alert is 'What a person must look at; written in the transaction of the change it belongs to';
comment on column core.alert.alert_id is 'Order of raising';
comment on column core.alert.code is 'SAME_FLID_ACROSS_OPERATION_DAYS, IDENTITY_COLLISION, MAILBOX_ID_REUSE, UNMAPPED_STYP …';
comment on column core.alert.detail is 'A sentence: what happened to what, and what to do';
comment on column core.alert.raised_at is 'When, on the database''s clock';
comment on column core.alert.message_id is 'The message at fault, if one is';
comment on column core.alert.dedupe_key is 'An alert with a key is raised once; later ones count as repeats';
comment on column core.alert.repeats is 'How often it would have been raised again';
comment on column core.alert.acknowledged_at is 'When an operator took note';
comment on column core.alert.acknowledged_by is 'Which operator';

create table core.routine (
  schema_name text not null,
  routine_name text not null,
  file text not null,
  kind text not null,
  digest text not null,
  live_digest text not null,
  release text not null,
  applied_at timestamptz not null,
  primary key (schema_name, routine_name)
);
comment on table core.routine is 'Which routine text is deployed';
comment on column core.routine.schema_name is 'Room';
comment on column core.routine.routine_name is 'Function, procedure or view';
comment on column core.routine.file is 'Its file below db/routines';
comment on column core.routine.kind is 'function, procedure or view';
comment on column core.routine.digest is 'sha256 of the file''s text';
comment on column core.routine.live_digest is 'sha256 of the definition as the server showed it right after deployment';
comment on column core.routine.release is 'Version of msgexchange that deployed it';
comment on column core.routine.applied_at is 'When';

create table core.migration_digest (
  migration_id text primary key,
  digest text not null,
  applied_at timestamptz not null
);
comment on table core.migration_digest is 'What each applied migration said; yoyo remembers only its name';
comment on column core.migration_digest.migration_id is 'yoyo''s migration id';
comment on column core.migration_digest.digest is 'sha256 of the file''s text when it was applied';
comment on column core.migration_digest.applied_at is 'When it was recorded';

reset role;
