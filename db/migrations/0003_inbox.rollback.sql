set local lock_timeout = '5s';
set local role msgx_owner;
drop table inbox.stage_record, inbox.stage_message, inbox.proc_state, inbox.hole, inbox.queue_head, inbox.inbox_cursor cascade;
reset role;
