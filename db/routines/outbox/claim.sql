-- Takes due events into the relay's hand. It writes, and must commit before anything is told: on a server with a synchronous standby this
-- also proves that what is told is on both. Arguments of the relay to Kafka, in the order to produce them.
-- KAFKA:msg: for each FLID its first unsent event, if that is due; at most one event a FLID, so nothing overtakes an earlier event of its
--   flight, neither one that failed nor one whose confirmation is outstanding. One that backs off takes no place in the batch.
-- KAFKA:schd: due rows, with the state as it is now (flight.document) or the tombstone's payload; a null value is a null record. Row and
--   state are of one snapshot. Rows that the pump is replacing at this moment are left out; they are due again with their new version.
-- An event that was never tried does not wait for a clock that was set back since to come to it again.
-- One claim is settled before the next is made, by the one thread of the one leader. So a claim that is still held, by this epoch or an
-- older one, is one that got lost, and the event is taken again: at least once, never less.
-- Reads:  outbox.msg_event, core.setting, and through flight.document all that belongs to a flight
-- Writes: outbox.msg_event; core.alert where a state to tell has no flight
-- Locks:  LEADER for key share, the events' rows (locked ones are left out, so the pump is never waited for)
-- Raises: MX010 stale leader epoch; 22023 no such target
create or replace function outbox.claim(p_epoch bigint, p_target text, p_limit integer)
returns table (
  event_id bigint, flid bigint, event_type text, state_version bigint, message_id bigint, updated_at timestamptz, value text)
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_setting core.setting;
  v_limit integer;
  v_from bigint;
  v_ids bigint[];
  v_taken integer;
  v_orphans bigint[];
begin
  perform core.require_epoch(p_epoch);
  v_now := core.now();
  select * into strict v_setting from core.setting;

  if p_target = 'KAFKA:msg' then
    v_limit := coalesce(p_limit, v_setting.pipeline_event_batch);
    select q.settled_through into strict v_from from outbox.queue_head q;
    -- Oldest first, but only so far: where few flights hold much of the queue, this finds little, however long it looks.
    v_ids := array(
      select e.event_id
      from (
        select o.event_id, o.flid, o.attempts, o.created_at, o.next_attempt_at
        from outbox.msg_event_msg o
        where o.state = 'PENDING' and o.event_id > v_from
        order by o.event_id
        limit 4 * v_limit + 1000) e
      where (e.next_attempt_at <= v_now or e.attempts = 0 and e.created_at > v_now)
        and e.event_id = (
          select p.event_id from outbox.msg_event_msg p
          where p.flid = e.flid and p.state = 'PENDING' and p.event_id > v_from
          order by p.event_id
          limit 1)
      order by e.event_id
      limit v_limit);
    if cardinality(v_ids) < v_limit then
      -- Then from flight to flight, over the heads alone.
      v_ids := array(
        with recursive head as (
          (select e.flid, e.event_id, e.attempts, e.created_at, e.next_attempt_at
           from outbox.msg_event_msg e
           where e.state = 'PENDING' and e.event_id > v_from
           order by e.flid, e.event_id
           limit 1)
          union all
          select n.flid, n.event_id, n.attempts, n.created_at, n.next_attempt_at
          from head h
          cross join lateral (
            select e.flid, e.event_id, e.attempts, e.created_at, e.next_attempt_at
            from outbox.msg_event_msg e
            where e.state = 'PENDING' and e.event_id > v_from and e.flid > h.flid
            order by e.flid, e.event_id
            limit 1) n)
        select h.event_id
        from head h
        where h.next_attempt_at <= v_now or h.attempts = 0 and h.created_at > v_now
        order by h.event_id
        limit v_limit);
    end if;
    perform outbox.advance_queue_head(v_from);
    return query
    with held as materialized (
      select e.event_id from outbox.msg_event_msg e
      where e.event_id = any (v_ids) and e.state = 'PENDING'
      for no key update skip locked),
    taken as (
      update outbox.msg_event_msg e
      set claim_epoch = p_epoch, claimed_at = v_now
      from held
      where e.event_id = held.event_id
      returning e.event_id, e.flid, e.event_type, e.state_version, e.message_id, e.updated_at, e.payload)
    select t.event_id, t.flid, t.event_type, t.state_version, t.message_id, t.updated_at, t.payload from taken t order by t.event_id;

  elsif p_target = 'KAFKA:schd' then
    return query
    with due as materialized (
      select e.event_id, e.flid, e.event_type, e.payload
      from outbox.msg_event_schd e
      where e.state = 'PENDING' and (e.next_attempt_at <= v_now or e.attempts = 0 and e.created_at > v_now)
      order by e.event_id
      limit coalesce(p_limit, v_setting.schd_flush_limit)),
    told as materialized (
      select d.event_id, d.flid, case d.event_type when 'UPSERT' then s.document::text else d.payload end as value
      from due d
      left join flight.document(array(select u.flid from due u where u.event_type = 'UPSERT')) s on s.flid = d.flid
      where d.event_type = 'TOMBSTONE' or s.flid is not null),
    held as materialized (
      -- Locked only now, with the state at hand, and only if it is the same generation still.
      select e.flid, e.event_id, t.value
      from told t
      join outbox.msg_event_schd e on e.flid = t.flid and e.event_id = t.event_id and e.state = 'PENDING'
      for no key update of e skip locked),
    taken as (
      update outbox.msg_event_schd e
      set claim_epoch = p_epoch, claimed_at = v_now
      from held
      where e.flid = held.flid and e.event_id = held.event_id
      returning e.event_id, e.flid, e.event_type, e.state_version, e.message_id, e.updated_at, held.value)
    select t.event_id, t.flid, t.event_type, t.state_version, t.message_id, t.updated_at, t.value from taken t order by t.event_id;

    -- A state to tell without a flight is damage in our own tables. It must not wait in silence; a full batch has no time for it.
    get diagnostics v_taken = row_count;
    if v_taken >= coalesce(p_limit, v_setting.schd_flush_limit) then
      return;
    end if;
    with lost as (
      update outbox.msg_event_schd e
      set state = 'DEAD', last_error = 'the flight has no row', claim_epoch = null, claimed_at = null
      where e.flid in (
        select o.flid from outbox.msg_event_schd o
        where o.state = 'PENDING' and o.next_attempt_at <= v_now and o.event_type = 'UPSERT'
          and not exists (select from flight.flight_schd f where f.flid = o.flid)
        for no key update skip locked)
      returning e.flid)
    select array_agg(l.flid) into v_orphans from lost l;
    if v_orphans is not null then
      perform core.raise_alert(
        'EVENT_DEAD',
        format('KAFKA:schd: flights %s have a state to tell but no row. The consumers keep their last state; find out what removed them.',
          core.id_list(v_orphans)));
    end if;

  else
    raise exception using
      errcode = 'invalid_parameter_value',
      message = format('there is no target %L', p_target),
      hint = 'Targets are KAFKA:msg and KAFKA:schd.';
  end if;
end
$fn$;

comment on function outbox.claim(bigint, text, integer) is 'Takes due events of a target into hand; commit before they are told';
grant execute on function outbox.claim(bigint, text, integer) to msgx_app;
