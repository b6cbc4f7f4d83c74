-- The one current state of a flight: the main row, nine detail tables, raw sections, and the versions of what is gone.
-- Columns stand in the order of the catalogue, which is the order of the keys in what is published.
-- depends: 0003_inbox

set local lock_timeout = '5s';
set local role msgx_owner;

create table flight.flight_schd (
  flid bigint primary key check (flid between 0 and 999999999999),
  state text not null default 'ACTIVE' check (state in ('ACTIVE', 'DELETED')),
  state_version bigint not null check (state_version > 0),
  updated_at timestamptz not null,
  operation_day date,
  last_message_id bigint not null,
  created_at timestamptz not null,

  -- identity and plan
  alcd text,
  alsc text,
  flno text,
  mvin text,
  sodt timestamptz,
  flty text,
  flin text,
  acft text,
  reno text,

  -- turnaround and code share
  taop text,
  tafl text,
  taid bigint,
  trml text,
  csop text,
  csft text,
  maid bigint,

  -- times
  estt timestamptz,
  actt timestamptz,
  botm timestamptz,
  lacl timestamptz,
  fint timestamptz,
  appt timestamptz,
  egsr text,
  egst text,
  padt timestamptz,
  naat timestamptz,
  neat timestamptz,
  pedt timestamptz,
  ftss text,

  -- resources and state
  stnd text,
  phag text,
  fhag text,
  mhag text,
  cncl timestamptz,
  remc text,
  maxp integer,
  vipp text,
  vipr text,
  lbno text,
  lbwt text,
  paxc text,
  exsc text,
  exsr text,

  -- diversion and return
  ddes text,
  ddir text,
  reid text,

  -- scalars of the site
  extra jsonb not null default '{}'
) with (fillfactor = 70);
create index flight_schd_day on flight.flight_schd (operation_day, flid);
create index flight_schd_main on flight.flight_schd (maid, flid) where maid is not null;
create index flight_schd_number on flight.flight_schd (flno, operation_day);
comment on table flight.flight_schd is 'One row a FLID: its scalars, state and version; with the detail tables the only authority on a flight (implementation.md 11.1)';
comment on column flight.flight_schd.flid is 'FLID: the only identity of a flight';
comment on column flight.flight_schd.state is 'ACTIVE or DELETED';
comment on column flight.flight_schd.state_version is 'STATE_VERSION: one step for each message that names the flight; never repeats for a FLID';
comment on column flight.flight_schd.updated_at is 'When the version was written';
comment on column flight.flight_schd.operation_day is 'OPERATION_DAY: from SODT in plans and ADFT; once set it never changes (a trigger forbids it)';
comment on column flight.flight_schd.last_message_id is 'LAST_MESSAGE_ID: the message that caused the version';
comment on column flight.flight_schd.created_at is 'When this life of the flight began';
comment on column flight.flight_schd.alcd is 'ALCD: airline code';
comment on column flight.flight_schd.alsc is 'ALSC: airline sub-code';
comment on column flight.flight_schd.flno is 'FLNO: flight number, for display, never an identity';
comment on column flight.flight_schd.mvin is 'MVIN: movement: A arrival, D departure';
comment on column flight.flight_schd.sodt is 'SODT: scheduled time of the operation';
comment on column flight.flight_schd.flty is 'FLTY: flight type';
comment on column flight.flight_schd.flin is 'FLIN: flight indicator';
comment on column flight.flight_schd.acft is 'ACFT: aircraft type';
comment on column flight.flight_schd.reno is 'RENO: registration';
comment on column flight.flight_schd.taop is 'TAOP: turnaround: operator';
comment on column flight.flight_schd.tafl is 'TAFL: turnaround: flight number';
comment on column flight.flight_schd.taid is 'TAID: turnaround: FLID of the arrival';
comment on column flight.flight_schd.trml is 'TRML: terminal';
comment on column flight.flight_schd.csop is 'CSOP: code share: the main flight''s operator';
comment on column flight.flight_schd.csft is 'CSFT: code share: the main flight''s number';
comment on column flight.flight_schd.maid is 'MAID: code share: FLID of the main flight';
comment on column flight.flight_schd.estt is 'ESTT: estimated time';
comment on column flight.flight_schd.actt is 'ACTT: actual time';
comment on column flight.flight_schd.botm is 'BOTM: boarding time';
comment on column flight.flight_schd.lacl is 'LACL: last call';
comment on column flight.flight_schd.fint is 'FINT: final time';
comment on column flight.flight_schd.appt is 'APPT: approach time';
comment on column flight.flight_schd.egsr is 'EGSR: date-time or text, as sent';
comment on column flight.flight_schd.egst is 'EGST: date-time or text, as sent';
comment on column flight.flight_schd.padt is 'PADT: date-time as sent under this tag';
comment on column flight.flight_schd.naat is 'NAAT: departure: gate closed';
comment on column flight.flight_schd.neat is 'NEAT: arrival: disembarked';
comment on column flight.flight_schd.pedt is 'PEDT: date-time as sent under this tag';
comment on column flight.flight_schd.ftss is 'FTSS: date-time or text, as sent';
comment on column flight.flight_schd.stnd is 'STND: stand in use';
comment on column flight.flight_schd.phag is 'PHAG: passenger handling agent';
comment on column flight.flight_schd.fhag is 'FHAG: flight handling agent';
comment on column flight.flight_schd.mhag is 'MHAG: maintenance handling agent';
comment on column flight.flight_schd.cncl is 'CNCL: time of cancellation; null = not cancelled';
comment on column flight.flight_schd.remc is 'REMC: remark code';
comment on column flight.flight_schd.maxp is 'MAXP: most passengers';
comment on column flight.flight_schd.vipp is 'VIPP: VIP indicator';
comment on column flight.flight_schd.vipr is 'VIPR: VIP remark';
comment on column flight.flight_schd.lbno is 'LBNO: baggage pieces';
comment on column flight.flight_schd.lbwt is 'LBWT: baggage weight';
comment on column flight.flight_schd.paxc is 'PAXC: passenger count';
comment on column flight.flight_schd.exsc is 'EXSC: text as sent';
comment on column flight.flight_schd.exsr is 'EXSR: text as sent';
comment on column flight.flight_schd.ddes is 'DDES: FDIV: diversion destination';
comment on column flight.flight_schd.ddir is 'DDIR: FDIV: diversion direction';
comment on column flight.flight_schd.reid is 'REID: FRET: return indicator';
comment on column flight.flight_schd.extra is 'Scalars that the site added to the catalogue, by their tag';

create table flight.flight_gate (
  flid bigint not null references flight.flight_schd on delete cascade,
  ordinal integer not null check (ordinal > 0),
  source_seq integer,
  gate text,
  pgot timestamptz,
  pgct timestamptz,
  gotm timestamptz,
  gctm timestamptz,
  gtyp text,
  primary key (flid, ordinal)
);
comment on table flight.flight_gate is 'GTDT: gates, in the order of the message (SIS 3.34); replaced as a whole';
comment on column flight.flight_gate.flid is 'The flight';
comment on column flight.flight_gate.ordinal is 'Place in the message, from 1';
comment on column flight.flight_gate.source_seq is 'GTNO: the sender''s number; may be empty or repeated, never a key';
comment on column flight.flight_gate.gate is 'GATE: gate';
comment on column flight.flight_gate.pgot is 'PGOT: planned opening';
comment on column flight.flight_gate.pgct is 'PGCT: planned closing';
comment on column flight.flight_gate.gotm is 'GOTM: opened';
comment on column flight.flight_gate.gctm is 'GCTM: closed';
comment on column flight.flight_gate.gtyp is 'GTYP: gate type';

create table flight.flight_checkin (
  flid bigint not null references flight.flight_schd on delete cascade,
  ordinal integer not null check (ordinal > 0),
  source_seq integer,
  chkc text,
  ccls text,
  pcot timestamptz,
  pcct timestamptz,
  cotm timestamptz,
  cctm timestamptz,
  ctyp text,
  primary key (flid, ordinal)
);
comment on table flight.flight_checkin is 'CKDT: check-in counters, in the order of the message (SIS 3.24); replaced as a whole';
comment on column flight.flight_checkin.flid is 'The flight';
comment on column flight.flight_checkin.ordinal is 'Place in the message, from 1';
comment on column flight.flight_checkin.source_seq is 'CKNO: the sender''s number; may be empty or repeated, never a key';
comment on column flight.flight_checkin.chkc is 'CHKC: counter';
comment on column flight.flight_checkin.ccls is 'CCLS: class';
comment on column flight.flight_checkin.pcot is 'PCOT: planned opening';
comment on column flight.flight_checkin.pcct is 'PCCT: planned closing';
comment on column flight.flight_checkin.cotm is 'COTM: opened';
comment on column flight.flight_checkin.cctm is 'CCTM: closed';
comment on column flight.flight_checkin.ctyp is 'CTYP: counter type';

create table flight.flight_belt (
  flid bigint not null references flight.flight_schd on delete cascade,
  ordinal integer not null check (ordinal > 0),
  source_seq integer,
  belt text,
  bcls text,
  pcot timestamptz,
  pcct timestamptz,
  fbag text,
  lbag text,
  btyp text,
  primary key (flid, ordinal)
);
comment on table flight.flight_belt is 'CLDT: baggage belts, in the order of the message (SIS 3.25); replaced as a whole';
comment on column flight.flight_belt.flid is 'The flight';
comment on column flight.flight_belt.ordinal is 'Place in the message, from 1';
comment on column flight.flight_belt.source_seq is 'CLNO: the sender''s number; may be empty or repeated, never a key';
comment on column flight.flight_belt.belt is 'BELT: belt';
comment on column flight.flight_belt.bcls is 'BCLS: class';
comment on column flight.flight_belt.pcot is 'PCOT: planned opening';
comment on column flight.flight_belt.pcct is 'PCCT: planned closing';
comment on column flight.flight_belt.fbag is 'FBAG: first bag, date-time or text';
comment on column flight.flight_belt.lbag is 'LBAG: last bag, date-time or text';
comment on column flight.flight_belt.btyp is 'BTYP: belt type';

create table flight.flight_chute (
  flid bigint not null references flight.flight_schd on delete cascade,
  ordinal integer not null check (ordinal > 0),
  source_seq integer,
  chut text,
  chcls text,
  pcbt timestamptz,
  pcet timestamptz,
  cbtm timestamptz,
  cetm timestamptz,
  chtyp text,
  primary key (flid, ordinal)
);
comment on table flight.flight_chute is 'CHDT: baggage chutes, in the order of the message (SIS 3.26); replaced as a whole';
comment on column flight.flight_chute.flid is 'The flight';
comment on column flight.flight_chute.ordinal is 'Place in the message, from 1';
comment on column flight.flight_chute.source_seq is 'CHNO: the sender''s number; may be empty or repeated, never a key';
comment on column flight.flight_chute.chut is 'CHUT: chute';
comment on column flight.flight_chute.chcls is 'CHCLS: class (CCLS in the text of the SIS, CHCLS in its XSD)';
comment on column flight.flight_chute.pcbt is 'PCBT: planned begin';
comment on column flight.flight_chute.pcet is 'PCET: planned end';
comment on column flight.flight_chute.cbtm is 'CBTM: begun';
comment on column flight.flight_chute.cetm is 'CETM: ended';
comment on column flight.flight_chute.chtyp is 'CHTYP: chute type (CTYP in the text of the SIS, CHTYP in its XSD)';

create table flight.flight_stand (
  flid bigint not null references flight.flight_schd on delete cascade,
  ordinal integer not null check (ordinal > 0),
  source_seq integer,
  psst text,
  stst timestamptz,
  stet timestamptz,
  primary key (flid, ordinal)
);
comment on table flight.flight_stand is 'PSDT: planned stands, in the order of the message (SIS 3.38); replaced as a whole';
comment on column flight.flight_stand.flid is 'The flight';
comment on column flight.flight_stand.ordinal is 'Place in the message, from 1';
comment on column flight.flight_stand.source_seq is 'PSNO: the sender''s number; may be empty or repeated, never a key';
comment on column flight.flight_stand.psst is 'PSST: stand';
comment on column flight.flight_stand.stst is 'STST: from';
comment on column flight.flight_stand.stet is 'STET: to';

create table flight.flight_chock (
  flid bigint not null references flight.flight_schd on delete cascade,
  ordinal integer not null check (ordinal > 0),
  source_seq integer,
  chtm timestamptz,
  chid text,
  chst text,
  primary key (flid, ordinal)
);
comment on table flight.flight_chock is 'CHOT: chocks, in the order of the message (SIS 3.22); replaced as a whole';
comment on column flight.flight_chock.flid is 'The flight';
comment on column flight.flight_chock.ordinal is 'Place in the message, from 1';
comment on column flight.flight_chock.source_seq is 'CSNO: the sender''s number; may be empty or repeated, never a key';
comment on column flight.flight_chock.chtm is 'CHTM: chock time; null = that time was taken back';
comment on column flight.flight_chock.chid is 'CHID: on or off';
comment on column flight.flight_chock.chst is 'CHST: stand';

create table flight.flight_delay (
  flid bigint not null references flight.flight_schd on delete cascade,
  ordinal integer not null check (ordinal > 0),
  code text,
  strt text,
  dura text,
  text text,
  primary key (flid, ordinal)
);
comment on table flight.flight_delay is 'DELY: delays, in the order of the message (XSD FLOP); replaced as a whole';
comment on column flight.flight_delay.flid is 'The flight';
comment on column flight.flight_delay.ordinal is 'Place in the message, from 1';
comment on column flight.flight_delay.code is 'CODE: delay code';
comment on column flight.flight_delay.strt is 'STRT: start, date-time or text';
comment on column flight.flight_delay.dura is 'DURA: duration as sent';
comment on column flight.flight_delay.text is 'TEXT: reason';

create table flight.flight_bridge (
  flid bigint not null references flight.flight_schd on delete cascade,
  ordinal integer not null check (ordinal > 0),
  source_seq integer,
  abdg text,
  abop text,
  aotm timestamptz,
  primary key (flid, ordinal)
);
comment on table flight.flight_bridge is 'ABTM: bridges on and off, in the order of the message (XSD FLOP); replaced as a whole';
comment on column flight.flight_bridge.flid is 'The flight';
comment on column flight.flight_bridge.ordinal is 'Place in the message, from 1';
comment on column flight.flight_bridge.source_seq is 'ASNO: the sender''s number; may be empty or repeated, never a key';
comment on column flight.flight_bridge.abdg is 'ABDG: bridge';
comment on column flight.flight_bridge.abop is 'ABOP: operation, date-time or text';
comment on column flight.flight_bridge.aotm is 'AOTM: time';

create table flight.flight_route_point (
  flid bigint not null references flight.flight_schd on delete cascade,
  route_kind text not null check (route_kind in ('ROUT', 'ERUT')),
  ordinal integer not null check (ordinal > 0),
  source_seq integer,
  apcd text,
  scat timestamptz,
  scdt timestamptz,
  primary key (flid, route_kind, ordinal)
);
comment on table flight.flight_route_point is 'ROUT and ERUT: route points, in the order of the message (SIS 3.40); replaced as a whole';
comment on column flight.flight_route_point.flid is 'The flight';
comment on column flight.flight_route_point.route_kind is 'ROUT or ERUT, two sets that never touch each other';
comment on column flight.flight_route_point.ordinal is 'Place in the message, from 1';
comment on column flight.flight_route_point.source_seq is 'RTNO: the sender''s number; may be empty or repeated, never a key';
comment on column flight.flight_route_point.apcd is 'APCD: airport code';
comment on column flight.flight_route_point.scat is 'SCAT: scheduled arrival there';
comment on column flight.flight_route_point.scdt is 'SCDT: scheduled departure there';

create table flight.flight_section (
  flid bigint not null,
  section text not null check (section in ('SRVT', 'VIPF')),
  ordinal integer not null check (ordinal > 0),
  content text not null,
  message_id bigint not null,
  seen_at timestamptz not null,
  primary key (flid, section, ordinal)
);
comment on table flight.flight_section is 'That SRVT or VIPF occurred, and what stood in it last; never merged, never published (implementation.md 11.3)';
comment on column flight.flight_section.flid is 'The flight';
comment on column flight.flight_section.section is 'SRVT or VIPF';
comment on column flight.flight_section.ordinal is 'Place in the message, from 1';
comment on column flight.flight_section.content is 'The element as sent';
comment on column flight.flight_section.message_id is 'The message that brought it';
comment on column flight.flight_section.seen_at is 'When it was processed';

create table flight.flid_version (
  flid bigint primary key,
  state_version bigint not null,
  removed_at timestamptz not null
);
comment on table flight.flid_version is 'The last version of every FLID whose row was removed, so that a new life goes on counting (also: this FLID is known as deleted)';
comment on column flight.flid_version.flid is 'The flight';
comment on column flight.flid_version.state_version is 'Its last version, that of its deletion';
comment on column flight.flid_version.removed_at is 'When the row was removed';

create type flight.incoming as (
  flid bigint,
  operation_day date,
  scalars jsonb,
  extra jsonb,
  sets jsonb,
  sections jsonb
);
comment on type flight.incoming is 'One flight of a message, ready to be merged: absent = no key, JSON null or [] = explicitly empty';

create type flight.transition as (
  place integer,
  flid bigint,
  scalars jsonb,
  sets jsonb,
  sections jsonb,
  before flight.flight_schd,
  after flight.flight_schd,
  fresh boolean,
  wiped boolean
);
comment on type flight.transition is 'A flight''s step from one version to the next; fresh = starts from nothing, wiped = what the message does not name is gone';

reset role;
