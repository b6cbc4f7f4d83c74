-- Who wrote what, and who led when: kept by triggers of the test alone. A row stays only if its transaction commits, so "the old
-- leader commits nothing more" can be read from it afterwards.
create schema chaos;
grant usage on schema chaos to public;
create table chaos.act (application text not null, relation text not null, at timestamptz not null);
create table chaos.reign (epoch bigint not null, holder text not null, acquired_at timestamptz not null);

create function chaos.note_act() returns trigger language plpgsql security definer set search_path to '' as $fn$
begin
  insert into chaos.act values (current_setting('application_name'), tg_table_schema || '.' || tg_table_name, clock_timestamp());
  return null;
end
$fn$;

create function chaos.note_reign() returns trigger language plpgsql security definer set search_path to '' as $fn$
begin
  insert into chaos.reign values (new.epoch, new.holder, new.acquired_at);
  return null;
end
$fn$;

create trigger chaos_act after update on inbox.inbox_cursor for each statement execute function chaos.note_act();
create trigger chaos_act after update on inbox.queue_head for each statement execute function chaos.note_act();
create trigger chaos_act after update on inbox.proc_state for each statement execute function chaos.note_act();
create trigger chaos_act after update on outbox.msg_event_msg for each statement execute function chaos.note_act();
create trigger chaos_act after update on outbox.msg_event_schd for each statement execute function chaos.note_act();
create trigger chaos_act after insert or update on core.duty for each statement execute function chaos.note_act();
create trigger chaos_reign after update on core.pipeline_lock for each row
  when (new.name = 'LEADER' and new.holder is not null and new.epoch <> old.epoch) execute function chaos.note_reign();
