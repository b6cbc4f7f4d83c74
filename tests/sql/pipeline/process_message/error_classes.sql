-- SQLSTATE decides the class, never a text (design 6): MX001 and MX002 end DEAD, MX003 and MX004 are tried again on their ladders,
-- everything else, deadlock or bug, is INFRA with its SQLSTATE kept. What a failed message did is rolled back.
begin;
\ir ../../flights.psql
select plan(59);

create temp table fault (sqlstate text, what text);
insert into fault values
  ('40P01', 'deadlock'), ('40001', 'serialization'), ('55P03', 'lock not available'), ('57014', 'cancelled, timed out'), ('57P01', 'admin shutdown'),
  ('57P02', 'crash shutdown'), ('53100', 'disk full'), ('53200', 'out of memory'), ('53300', 'too many connections'), ('08006', 'connection failure'),
  ('08003', 'no connection'), ('58030', 'i/o error'), ('XX000', 'internal error'), ('23514', 'a check'), ('22P02', 'a text'), ('42883', 'no such function'),
  ('P0001', 'raise'), ('MX013', 'a rule of ours'), ('MX099', 'a class nobody knows'), ('23505', 'MX001 in its text: PROTOCOL');

select pg_temp.adft(pg_temp.p(1, '2026-03-10', '{}', '{"CHOT": [{"chid": "OLD"}]}'));
create temp table before as select pg_temp.fingerprint() as print;

-- The fault comes late: after the flight's row and details, when the event is written.
create function pg_temp.break() returns trigger
language plpgsql as $fn$
begin
  if current_setting('msgx.test_fault', true) <> '' then
    raise exception using errcode = current_setting('msgx.test_fault'), message = 'PROTOCOL MX001 deadlock detected';
  end if;
  return new;
end
$fn$;
create trigger break before insert on outbox.msg_event_msg for each row execute function pg_temp.break();

create function pg_temp.try(p_sqlstate text) returns text
language plpgsql as $fn$
declare
  v_ending text;
  v_row inbox.proc_state;
begin
  perform set_config('msgx.test_fault', p_sqlstate, true);
  v_ending := pg_temp.flop(1, 'X', '{"estt": "2026-03-10T11:00:00+08:00"}', '{"CHOT": [{"chid": "NEW"}]}');
  select * into v_row from inbox.proc_state m where m.msg_id = pg_temp.last();
  v_ending := concat_ws(' ', v_ending, v_row.error_sqlstate, v_row.attempts, v_row.next_attempt_at - core.now(),
    case when pg_temp.fingerprint() = (select b.print from before b) then 'nothing landed' else 'something landed' end);
  delete from inbox.stage_record where msg_id = v_row.msg_id;
  delete from inbox.stage_message where msg_id = v_row.msg_id;
  delete from inbox.proc_state where msg_id = v_row.msg_id;
  return v_ending;
end
$fn$;
select is(pg_temp.try(f.sqlstate), format('FAILED(INFRA) %s 1 00:00:01 nothing landed', f.sqlstate), f.sqlstate || ' ' || f.what) from fault f;
select is(pg_temp.try('MX001'), 'DEAD(PROTOCOL) MX001 0 nothing landed', 'MX001');
select is(pg_temp.try('MX002'), 'DEAD(MALFORMED) MX002 0 nothing landed', 'MX002');
select is(pg_temp.try('MX003'), 'FAILED(UNSUPPORTED) MX003 1 00:00:01 nothing landed', 'MX003');
select is(pg_temp.try('MX004'), 'FAILED(CODEC_ERROR) MX004 1 00:00:01 nothing landed', 'MX004');
select set_config('msgx.test_fault', 'MX010', true);
select throws_ok('select pg_temp.flop(1, ''X'', ''{"estt": null}'')', 'MX010', null, 'MX010 is nobody''s ending: it goes to the caller');
select set_config('msgx.test_fault', '', true);
delete from inbox.stage_record; delete from inbox.stage_message; delete from inbox.proc_state where state in ('PENDING', 'FAILED');

-- a fault that stays: the ladder, then EXHAUSTED; the reason and SQLSTATE are kept, the class is hidden (implementation.md 3)
create function pg_temp.climb(p_class text) returns text
language plpgsql as $fn$
declare
  v_id constant bigint := pg_temp.last();
  v_waits text := '';
  v_row inbox.proc_state;
begin
  loop
    select * into v_row from inbox.proc_state m where m.msg_id = v_id;
    exit when v_row.state = 'DEAD';
    if v_row.error_class <> p_class then
      return 'class became ' || v_row.error_class;
    end if;
    v_waits := concat_ws(' ', v_waits, v_row.next_attempt_at - core.now());
    -- a moment before, nothing happens
    perform set_config('msgx.now', (v_row.next_attempt_at - interval '1 ms')::text, true);
    if pg_temp.step() <> 'HEAD_BACKOFF' then
      return 'did not wait';
    end if;
    perform set_config('msgx.now', v_row.next_attempt_at::text, true);
    perform pg_temp.restage(v_id);
    perform pg_temp.step();
  end loop;
  return concat_ws(' ', v_waits, pg_temp.state(v_id), v_row.attempts, v_row.error_sqlstate, v_row.last_error);
end
$fn$;
create function pg_temp.restage(p_id bigint) returns void
language sql as $fn$
  -- a body that could not be decoded is staged anew for each try
  insert into inbox.stage_message (msg_id, verdict, reason)
  select m.msg_id, 'CODEC_ERROR', m.last_error from inbox.proc_state m
  where m.msg_id = p_id and m.error_class = 'CODEC_ERROR' and not exists (select from inbox.stage_message s where s.msg_id = p_id)
$fn$;

select set_config('msgx.test_fault', '53100', true);
select is(pg_temp.flop(1, 'X', '{"estt": null}'), 'FAILED(INFRA)', 'INFRA that stays');
select is(pg_temp.climb('INFRA'), ' 00:00:01 00:00:05 00:00:30 00:02:00 00:10:00 DEAD(EXHAUSTED) 6 53100 PROTOCOL MX001 deadlock detected', 'climbs its ladder, and the reason survives');
select set_config('msgx.test_fault', '', true);
select is(pg_temp.send('OTHER', '{}', '{"type": "ZZZ", "styp": "Y"}'), 'FAILED(UNSUPPORTED)', 'UNSUPPORTED that stays');
select is(pg_temp.climb('UNSUPPORTED'), ' 00:00:01 00:00:05 00:00:30 DEAD(EXHAUSTED) 4 MX003 there is no rule for ZZZ-Y yet', 'holds the queue for seconds only');
select is(pg_temp.send(null, '{}', '{"verdict": "CODEC_ERROR", "reason": "encoding x-foo", "declared": null}'), 'FAILED(CODEC_ERROR)', 'CODEC_ERROR that stays');
select is((select count(*) from inbox.stage_message), 0::bigint, 'is to be decoded anew');
select is(pg_temp.climb('CODEC_ERROR'), ' 00:00:01 00:00:05 00:00:30 00:02:00 00:10:00 DEAD(EXHAUSTED) 6 encoding x-foo', 'with a ladder of its own');
select is((select row(m.backfill_next_at = core.now(), m.next_attempt_at)::text from inbox.proc_state m where m.msg_id = pg_temp.last()), '(t,)', 'EXHAUSTED owes a mark like any ending');
select is(pg_temp.flop(1, 'X', '{"estt": null}') || pg_temp.life(1), 'SUCCEEDEDACTIVE v2 of 2026-03-10', 'and the queue goes on');

-- a fault that goes
select set_config('msgx.test_fault', '40P01', true);
select is(pg_temp.flop(1, 'X', '{"remc": "x"}'), 'FAILED(INFRA)', 'a deadlock');
select set_config('msgx.test_fault', '', true);
select set_config('msgx.now', (core.now() + interval '1 s')::text, true);
select is(pg_temp.step() || pg_temp.state(pg_temp.last()), 'IDLESUCCEEDED', 'is over at the next try');
select is((select row(m.attempts, m.error_class, m.last_error, m.error_sqlstate, m.next_attempt_at)::text from inbox.proc_state m where m.msg_id = pg_temp.last()), '(1,,,,)', 'nothing of it is left but the count');

-- a bug of ours in a whole plan: all or nothing
alter table flight.flight_schd add constraint only_for_this_test check (flid <> 777);
create temp table before_plan as select pg_temp.fingerprint() as print;
select is(pg_temp.send('SCHD_DNLD', array(select pg_temp.p(i, '2026-03-10', '{}', '{"GTDT": [{"gate": "G"}]}') from generate_series(700, 799) i)), 'FAILED(INFRA)', 'flight 777 of a hundred breaks a check');
select is(pg_temp.fingerprint(), (select b.print from before_plan b), 'nothing of the hundred is kept');
select is((select m.error_sqlstate || ' ' || (m.last_error like '%only_for_this_test%') from inbox.proc_state m where m.msg_id = pg_temp.last()), '23514 true', 'SQLSTATE and reason are');
alter table flight.flight_schd drop constraint only_for_this_test;
select set_config('msgx.now', (core.now() + interval '1 s')::text, true);
select is(pg_temp.step() || pg_temp.state(pg_temp.last()), 'IDLESUCCEEDED', 'mended, the same message is applied');
select is((select count(*) from flight.flight_schd f where f.flid between 700 and 799), 100::bigint, 'whole');

-- the mark and the ending are one statement's: nothing ends without its intent
select is((select count(*) from inbox.proc_state m where m.state in ('SUCCEEDED', 'SKIPPED', 'DEAD') and m.backfill_next_at is null), 0::bigint, 'every ending owes its mark');
select is((select count(*) from inbox.stage_message) + (select count(*) from inbox.stage_record), 0::bigint, 'nothing is left in staging');

-- the ladder and the attempts fit, or the setting is refused (implementation.md 9.1)
create temp table class (name text);
insert into class values ('infra'), ('codec_error'), ('unsupported');
select throws_ok(format('update core.setting set pipeline_attempts_%s = 9', c.name), '23514', null, c.name || ': attempts without their steps') from class c;
select throws_ok(format('update core.setting set pipeline_ladder_%s = ''{1 s}''', c.name), '23514', null, c.name || ': a step without its attempt') from class c;
select lives_ok(format('update core.setting set pipeline_ladder_%1$s = ''{2 s}'', pipeline_attempts_%1$s = 2', c.name), c.name || ': both together') from class c;
select is(pg_temp.send('OTHER', '{}', '{"type": "ZZZ"}'), 'FAILED(UNSUPPORTED)', 'the new ladder');
select is(pg_temp.climb('UNSUPPORTED'), ' 00:00:02 DEAD(EXHAUSTED) 2 MX003 there is no rule for ZZZ-OTHER yet', 'is climbed');
select lives_ok('update core.setting set pipeline_ladder_unsupported = ''{}'', pipeline_attempts_unsupported = 1', 'no ladder at all');
select is(pg_temp.send('OTHER', '{}', '{"type": "ZZY"}'), 'DEAD(EXHAUSTED)', 'one try and no more');

-- verdicts of the loader
select is(pg_temp.send(null, '{}', '{"verdict": "MALFORMED", "reason": "raw-missing", "declared": null}') || ' ' || pg_temp.note(), 'DEAD(MALFORMED) raw-missing', 'MALFORMED is never tried again');
select is((select m.attempts from inbox.proc_state m where m.msg_id = pg_temp.last()), 0, 'and counts no try');
select * from finish();
rollback;
