set local lock_timeout = '5s';
set local role msgx_owner;
drop type outbox.news cascade;
drop table outbox.queue_head, outbox.msg_event cascade;
drop sequence outbox.event_id;
reset role;
