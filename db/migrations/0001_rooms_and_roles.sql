-- The four roles and the nine rooms. Roles belong to the cluster: they are made only where they are missing, and never dropped by a rollback.
-- depends:

set local lock_timeout = '5s';

do $do$
declare
  v_role text;
begin
  foreach v_role in array array['msgx_owner', 'msgx_app', 'msgx_operator', 'msgx_reader'] loop
    begin
      if not exists (select from pg_catalog.pg_roles where rolname = v_role) then
        execute format('create role %I nologin', v_role);
      end if;
    exception
      when duplicate_object or unique_violation then
        null;  -- another database of the cluster was quicker
      when insufficient_privilege then
        raise exception using
          errcode = 'insufficient_privilege',
          message = format('role %s is missing and %s may not create roles', v_role, current_user),
          hint = 'Let a superuser run once: create role msgx_owner; create role msgx_app; create role msgx_operator; '
              || 'create role msgx_reader; grant msgx_owner to ' || quote_ident(current_user) || ' with admin option;';
    end;
  end loop;

  -- Everything is owned by msgx_owner, so whoever deploys must be able to become it. From 16 on, having made a role (ADMIN) is not enough.
  if not pg_catalog.pg_has_role(
    current_user, 'msgx_owner', case when current_setting('server_version_num')::integer >= 160000 then 'set' else 'member' end) then
    execute format('grant msgx_owner to %I', current_user);
  end if;
  execute format('grant create on database %I to msgx_owner', current_database());
end
$do$;

set local role msgx_owner;

alter default privileges for role msgx_owner revoke execute on functions from public;
alter default privileges for role msgx_owner revoke usage on types from public;

create schema core;
create schema inbox;
create schema flight;
create schema ledger;
create schema outbox;
create schema request;
create schema refdata;
create schema history;
create schema pipeline;

comment on schema core is 'Clock, settings and policy, leadership, alerts, what is deployed';
comment on schema inbox is 'What has arrived, in which order, and how each message ended';
comment on schema flight is 'The one current state of a flight and how a message changes it';
comment on schema ledger is 'Which flights a day plan covered, and a trace of every plan';
comment on schema outbox is 'What still has to be told, to whom, in which order';
comment on schema request is 'What we asked the AODB, and what answered it';
comment on schema refdata is 'Reference data and resource state';
comment on schema history is 'What has left the hot tables';
comment on schema pipeline is 'The only way from inbox to flight';

grant usage on schema core, inbox, flight, ledger, outbox, request, refdata, history, pipeline
  to msgx_app, msgx_operator, msgx_reader;
alter default privileges for role msgx_owner grant select on tables to msgx_app, msgx_operator, msgx_reader;

reset role;
