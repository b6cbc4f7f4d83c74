-- What still has to be told. One table by name, two partitions by nature: KAFKA:msg is a queue, found by EVENT_ID; KAFKA:schd is one
-- row a FLID whose EVENT_ID changes with every message. An index over such a column would forbid in-place (HOT) updates, so the
-- two have different indexes, and PostgreSQL keeps indexes by partition.
-- depends: 0005_ledger_and_requests

set local lock_timeout = '5s';
set local role msgx_owner;

create sequence outbox.event_id as bigint;
comment on sequence outbox.event_id is 'EVENT_ID of both targets; one pump allocates, so order of allocation is order of commit';

create table outbox.msg_event (
  event_id bigint not null,
  target text not null check (target in ('KAFKA:msg', 'KAFKA:schd')),
  flid bigint not null,
  partition_key text not null generated always as (flid::text) stored,
  event_type text not null check (event_type in ('UPSERT', 'TOMBSTONE')),
  state_version bigint not null,
  message_id bigint not null,
  payload text,
  state text not null default 'PENDING' check (state in ('PENDING', 'SENT', 'DEAD')),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  claim_epoch bigint,
  claimed_at timestamptz,
  last_error text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  sent_at timestamptz
) partition by list (target);

create table outbox.msg_event_msg partition of outbox.msg_event for values in ('KAFKA:msg') with (fillfactor = 80);
alter table outbox.msg_event_msg add primary key (event_id);
create index msg_event_msg_waiting on outbox.msg_event_msg (event_id) where state = 'PENDING';
create index msg_event_msg_order on outbox.msg_event_msg (flid, event_id) where state = 'PENDING';
create index msg_event_msg_dead on outbox.msg_event_msg (event_id) where state = 'DEAD';
create index msg_event_msg_sent on outbox.msg_event_msg (sent_at) where state = 'SENT';

create table outbox.msg_event_schd partition of outbox.msg_event for values in ('KAFKA:schd') with (fillfactor = 50);
alter table outbox.msg_event_schd add primary key (flid);

comment on table outbox.msg_event is 'Outbox (implementation.md 8): KAFKA:msg keeps every notice in order, KAFKA:schd one row a FLID, replaced forward only';
comment on table outbox.msg_event_msg is 'Notices: a queue by EVENT_ID, in order within a FLID';
comment on table outbox.msg_event_schd is 'Latest states: one row a FLID; only flid is indexed, so that a row is updated in place; it is found due by reading the whole of this small table';
do $do$
declare
  v_column record;
begin
  for v_column in
    select c.name, c.says, t.name as table_name
    from (values
      ('event_id', 'KAFKA:msg: stable identity and order; KAFKA:schd: generation of the write, replaced with each accepted state'),
      ('target', 'KAFKA:msg or KAFKA:schd'),
      ('flid', 'The flight'),
      ('partition_key', 'Key of the record: FLID as decimal text'),
      ('event_type', 'UPSERT or TOMBSTONE'),
      ('state_version', 'Version of the flight that is told'),
      ('message_id', 'The message that caused it'),
      ('payload', 'Notice; or a deleted flight''s JSON; null for a state (built when it is claimed) and for a null tombstone'),
      ('state', 'PENDING, SENT, or DEAD (kept for msgx dead)'),
      ('attempts', 'Tries that failed because of this event'),
      ('next_attempt_at', 'PENDING: not before'),
      ('claim_epoch', 'Leader whose relay has it in hand'),
      ('claimed_at', 'Since when'),
      ('last_error', 'What the last try met'),
      ('created_at', 'When the state was committed'),
      ('updated_at', 'UPDATED_AT of the state that is told'),
      ('sent_at', 'When the broker confirmed it')) c(name, says)
    cross join (values ('msg_event'), ('msg_event_msg'), ('msg_event_schd')) t(name)
  loop
    execute format('comment on column outbox.%I.%I is %L', v_column.table_name, v_column.name, v_column.says);
  end loop;
end
$do$;

create table outbox.queue_head (
  only_row boolean primary key default true check (only_row),
  settled_through bigint not null default 0
) with (fillfactor = 50);
comment on table outbox.queue_head is 'Where the search for unsent notices starts, so that a long transaction elsewhere, which keeps dead index entries alive, does not slow the relay';
comment on column outbox.queue_head.only_row is 'Keeps the table at one row';
comment on column outbox.queue_head.settled_through is 'No KAFKA:msg event up to this id is PENDING';
insert into outbox.queue_head default values;

create type outbox.news as (
  flid bigint,
  event_type text,
  state_version bigint,
  changed text[],
  children bigint[],
  silent boolean
);
comment on type outbox.news is 'One version of a flight to be told: a notice (unless silent) and its latest state';

reset role;
