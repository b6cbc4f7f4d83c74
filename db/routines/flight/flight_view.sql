-- Flights for people: one line a flight, local times, its places joined. Never a source for writing or comparing (INV-11).
-- Reads:  flight.flight_schd, detail tables, core.setting
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace view flight.flight_view as
select
  f.flid,
  f.operation_day,
  f.flno,
  f.mvin,
  (select string_agg(r.apcd, '-' order by r.ordinal) from flight.flight_route_point r where r.flid = f.flid and r.route_kind = 'ROUT') as route,
  f.sodt at time zone s.airport_timezone as sodt,
  f.estt at time zone s.airport_timezone as estt,
  f.actt at time zone s.airport_timezone as actt,
  f.cncl at time zone s.airport_timezone as cncl,
  (select string_agg(g.gate, ' ' order by g.ordinal) from flight.flight_gate g where g.flid = f.flid) as gates,
  (select string_agg(g.chkc, ' ' order by g.ordinal) from flight.flight_checkin g where g.flid = f.flid) as counters,
  (select string_agg(g.belt, ' ' order by g.ordinal) from flight.flight_belt g where g.flid = f.flid) as belts,
  coalesce(f.stnd, (select string_agg(g.psst, ' ' order by g.ordinal) from flight.flight_stand g where g.flid = f.flid)) as stand,
  f.reno,
  f.maid,
  f.state,
  f.state_version,
  f.last_message_id,
  f.updated_at
from flight.flight_schd f
cross join core.setting s;

comment on view flight.flight_view is 'Flights for people, times local to the airport';
comment on column flight.flight_view.flid is 'FLID';
comment on column flight.flight_view.operation_day is 'Operational day';
comment on column flight.flight_view.flno is 'Flight number';
comment on column flight.flight_view.mvin is 'A or D';
comment on column flight.flight_view.route is 'Route points';
comment on column flight.flight_view.sodt is 'Scheduled, local';
comment on column flight.flight_view.estt is 'Estimated, local';
comment on column flight.flight_view.actt is 'Actual, local';
comment on column flight.flight_view.cncl is 'Cancelled at, local';
comment on column flight.flight_view.gates is 'Gates in order';
comment on column flight.flight_view.counters is 'Counters in order';
comment on column flight.flight_view.belts is 'Belts in order';
comment on column flight.flight_view.stand is 'Stand in use, else the planned ones';
comment on column flight.flight_view.reno is 'Registration';
comment on column flight.flight_view.maid is 'Main flight of a code share';
comment on column flight.flight_view.state is 'ACTIVE or DELETED';
comment on column flight.flight_view.state_version is 'Version';
comment on column flight.flight_view.last_message_id is 'Message that caused the version';
comment on column flight.flight_view.updated_at is 'When';
grant select on flight.flight_view to msgx_app, msgx_operator, msgx_reader;
