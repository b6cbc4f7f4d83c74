-- Only FAILED and DEAD of the classes that another try may help, PROTOCOL by name; ids are all or none; never all at once.
begin;
\ir ../common.psql
select plan(22);
select pg_temp.message(1, 'DEAD', 'CODEC_ERROR'), pg_temp.message(2, 'DEAD', 'UNSUPPORTED'), pg_temp.message(3, 'DEAD', 'INFRA'), pg_temp.message(4, 'DEAD', 'EXHAUSTED'),
  pg_temp.message(5, 'DEAD', 'PROTOCOL'), pg_temp.message(6, 'DEAD', 'MALFORMED'), pg_temp.message(7, 'PENDING'), pg_temp.message(8, 'SUCCEEDED'),
  pg_temp.message(9, 'SKIPPED'), pg_temp.message(10, 'FAILED', 'UNSUPPORTED');
create function pg_temp.unchanged() returns bigint
language sql as $fn$ select count(*) from inbox.proc_state m where m.replays = 0 $fn$;
select lives_ok(format('select inbox.replay(array[%s])', i), i || ' is replayable') from unnest(array[1, 2, 3, 4, 5, 10]) i;
select throws_ok(format('select inbox.replay(array[1, %s], p_dry_run => false)', i), 'MX013', null, i || ' is not, and with it nothing') from unnest(array[6, 7, 8, 9]) i;
select throws_ok('select inbox.replay(array[1, 6, 8], p_dry_run => false)', 'MX013', 'message 6, 8 is not replayed: DEAD MALFORMED, SUCCEEDED', 'it says which and why');
select throws_ok('select inbox.replay(array[1, 99], p_dry_run => false)', 'MX012', 'there is no message 99', 'an id that is none');
select throws_ok('select inbox.replay(p_dry_run => false)', 'MX013', 'all messages at once are not replayed', 'no filter');
select throws_ok($$select inbox.replay('{}', '{}', '{}', p_dry_run => false)$$, 'MX013', null, 'empty ones');
select throws_ok($$select inbox.replay(p_states => array['DEAD'], p_dry_run => false)$$, 'MX013', null, 'a state alone');
select throws_ok($$select inbox.replay(p_classes => array['INFRA', 'MALFORMED'], p_dry_run => false)$$, 'MX013', null, 'a class that is not replayed');
select throws_ok($$select inbox.replay(p_classes => array['INFRA'], p_states => array['SKIPPED'], p_dry_run => false)$$, 'MX013', null, 'a state that is not');
select throws_ok('select inbox.replay(p_from => 1, p_classes => array[''NONE''])', 'MX013', null, 'a class that is none');
select is(pg_temp.unchanged(), 10::bigint, 'nothing was changed by all this');
update inbox.proc_state set backfill_claim_epoch = 1, backfill_claimed_at = core.now() where msg_id = 3;
select throws_ok('select inbox.replay(array[1, 3], p_dry_run => false)', 'MX013', 'the mark of 3 is being written at this moment', 'one whose mark is in hand');
update core.pipeline_lock set expires_at = core.now() where name = 'LEADER';
select lives_ok('select inbox.replay(array[1, 3], p_dry_run => false)', 'unless the hand is dead');
select is(pg_temp.allowed('select inbox.replay(array[2])'), 'operator', 'only operators');
select * from finish();
rollback;
