-- A replay is a plan that is the last of every day it covers.
begin;
select plan(6);
insert into ledger.schd_gen (operation_day, version, last_message_id, last_recv_at) values ('2026-03-10', 3, 7, now()), ('2026-03-11', 1, 7, now()), ('2026-03-12', 1, 8, now());
select is(ledger.is_replay('{2026-03-10}', 7), true, 'the last of its day');
select is(ledger.is_replay('{2026-03-10,2026-03-11}', 7), true, 'of both its days');
select is(ledger.is_replay('{2026-03-10,2026-03-12}', 7), false, 'of one of them');
select is(ledger.is_replay('{2026-03-10,2026-03-13}', 7), false, 'a day without a generation');
select is(ledger.is_replay('{2026-03-10}', 6), false, 'another plan was last');
select is(ledger.is_replay('{}', 7), false, 'a plan that covers no day is never one');
select * from finish();
rollback;
