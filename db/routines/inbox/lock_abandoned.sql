-- Locks messages whose marks were given up, or says which of them are something else.
-- Reads:  inbox.proc_state
-- Writes: nothing
-- Locks:  the messages' rows
-- Raises: MX012 no such message; MX013 its mark was not given up
create or replace function inbox.lock_abandoned(p_ids bigint[])
returns void
language plpgsql
volatile
set search_path to ''
as $fn$
declare
  v_unknown bigint[];
  v_other bigint[];
begin
  select
    array_agg(u.id) filter (where l.msg_id is null),
    array_agg(u.id) filter (where l.msg_id is not null and l.backfill_abandoned_at is null)
  into v_unknown, v_other
  from unnest(p_ids) u(id)
  left join (
    select m.msg_id, m.backfill_abandoned_at from inbox.proc_state m where m.msg_id = any (p_ids) order by m.msg_id for no key update) l
    on l.msg_id = u.id;
  if v_unknown is not null then
    raise exception using
      errcode = 'MX012',
      message = format('there is no message %s', core.id_list(v_unknown)),
      hint = 'inbox.backfill_todo lists the marks that were given up; nothing was changed.';
  end if;
  if v_other is not null then
    raise exception using
      errcode = 'MX013',
      message = format('the mark of %s was not given up', core.id_list(v_other)),
      hint = 'inbox.backfill_todo lists those that were (status ABANDONED); nothing was changed.';
  end if;
end
$fn$;

comment on function inbox.lock_abandoned(bigint[]) is 'Locks messages whose marks were given up; MX012 or MX013 if one is not such';
