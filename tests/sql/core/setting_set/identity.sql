-- The form of identities is chosen before the first message; afterwards every resend would pass for a new one (implementation.md 2).
begin;
\ir ../common.psql
select plan(5);
select lives_ok($$select core.setting_set('msgx.identity.include-day-boundary', 'true')$$, 'on a new installation');
insert into inbox.proc_state (msg_id, enqueued_at, updated_at) values (1, core.now(), core.now());
select lives_ok($$select core.setting_set('msgx.identity.include-day-boundary', 'false')$$, 'while no identity is bound');
update inbox.proc_state set identity_key = 'A|B|C|1';
select throws_ok($$select core.setting_set('msgx.identity.include-day-boundary', 'true')$$, 'MX013', null, 'not afterwards');
select lives_ok($$select core.setting_set('msgx.identity.include-day-boundary', 'off')$$, 'but as it is');
select throws_ok($$select core.setting_set('msgx.identity.include-day-boundary', 'x')$$, '22023', null, 'a value that is none');
select * from finish();
rollback;
