set local lock_timeout = '5s';
set local role msgx_owner;
drop schema pipeline, history, refdata, request, outbox, ledger, flight, inbox, core cascade;
alter default privileges for role msgx_owner grant execute on functions to public;
alter default privileges for role msgx_owner grant usage on types to public;
alter default privileges for role msgx_owner revoke select on tables from msgx_app, msgx_operator, msgx_reader;
reset role;
