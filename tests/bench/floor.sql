-- The smallest conceivable ordered merge in PL/pgSQL: the least that any design of this kind has to do for a message. It takes the
-- next message, merges its change into one jsonb column, writes one event, ends the message, and commits every p_commit messages.
-- No identity, no detail tables, no versions of the past, no failure handling: not a competitor, a yardstick.
create schema floor;
create table floor.message (msg_id bigint primary key, flid bigint not null, change jsonb not null, state text not null default 'PENDING');
create index message_waiting on floor.message (msg_id) where state = 'PENDING';
create table floor.flight (flid bigint primary key, document jsonb not null, version bigint not null) with (fillfactor = 70);
create table floor.event (event_id bigint generated always as identity primary key, flid bigint not null, version bigint not null, payload jsonb not null);

create procedure floor.pump(p_from bigint, p_messages integer, p_commit integer)
language plpgsql
as $fn$
declare
  v_message floor.message;
  v_flight floor.flight;
  v_last bigint := p_from;
begin
  for i in 1 .. p_messages loop
    select * into v_message from floor.message m where m.msg_id > v_last and m.state = 'PENDING' order by m.msg_id limit 1;
    exit when not found;
    insert into floor.flight as f (flid, document, version) values (v_message.flid, v_message.change, 1)
    on conflict (flid) do update set document = f.document || excluded.document, version = f.version + 1
    returning * into v_flight;
    insert into floor.event (flid, version, payload) values (v_flight.flid, v_flight.version, v_message.change);
    update floor.message set state = 'SUCCEEDED' where msg_id = v_message.msg_id;
    v_last := v_message.msg_id;
    if i % p_commit = 0 then
      commit;
    end if;
  end loop;
  commit;
end
$fn$;
