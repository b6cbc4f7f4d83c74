set local lock_timeout = '5s';
set local role msgx_owner;
drop type flight.transition, flight.incoming cascade;
drop table flight.flid_version, flight.flight_section, flight.flight_route_point, flight.flight_bridge, flight.flight_delay,
  flight.flight_chock, flight.flight_stand, flight.flight_chute, flight.flight_belt, flight.flight_checkin, flight.flight_gate,
  flight.flight_schd cascade;
reset role;
