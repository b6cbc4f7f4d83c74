-- The same ids are told once, other ids anew.
begin;
\ir ../common.psql
select plan(4);
insert into inbox.hole values (3, 4, core.now(), core.now());
select inbox.alert_id_reuse(array[3, 9], 10), inbox.alert_id_reuse(array[9, 3], 10);
select is(pg_temp.alerts(), 'MAILBOX_ID_REUSE+1', 'once');
select matches((select a.detail from core.alert a), '^The mailbox holds 3, 9 at or below the watermark 10 .* Of these, 3 came into a hole', 'which, and why');
select inbox.alert_id_reuse(array[9], 10);
select is(pg_temp.alerts(), 'MAILBOX_ID_REUSE+1 MAILBOX_ID_REUSE', 'others anew');
select matches((select a.detail from core.alert a order by a.alert_id desc limit 1), 'look given out a second time', 'outside of holes');
select * from finish();
rollback;
