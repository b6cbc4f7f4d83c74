-- The operational day: local date, a time before the cut-over belonging to the day before.
begin;
select plan(12);
select is(flight.operation_day('2026-03-10 00:00+08', 'Asia/Shanghai', '00:00'), '2026-03-10'::date, 'midnight begins the day');
select is(flight.operation_day('2026-03-09 23:59:59.999+08', 'Asia/Shanghai', '00:00'), '2026-03-09'::date, 'a moment before does not');
select is(flight.operation_day('2026-03-10 03:59+08', 'Asia/Shanghai', '04:00'), '2026-03-09'::date, 'before the cut-over: the day before');
select is(flight.operation_day('2026-03-10 04:00+08', 'Asia/Shanghai', '04:00'), '2026-03-10'::date, 'at the cut-over: the day');
select is(flight.operation_day('2026-03-10 00:00+08', 'Asia/Shanghai', '23:59:59'), '2026-03-09'::date, 'a late cut-over');
select is(flight.operation_day('2026-03-10 16:00Z', 'Asia/Shanghai', '00:00'), '2026-03-11'::date, 'the zone decides, not the offset it was sent with');
select is(flight.operation_day('2026-03-10 16:00Z', 'UTC', '00:00'), '2026-03-10'::date, 'another zone, another day');
select is(flight.operation_day('2026-03-01 00:30+08', 'Asia/Shanghai', '04:00'), '2026-02-28'::date, 'over the end of a month');
select is(flight.operation_day('2026-03-08 07:30Z', 'America/New_York', '03:00'), '2026-03-08'::date, 'on the morning when 02:30 is skipped, 03:30 local is past a cut-over at three');
select is(flight.operation_day(null, 'Asia/Shanghai', '00:00'), null, 'no time, no day');
set local timezone to 'Pacific/Kiritimati';
select is(flight.operation_day('2026-03-10 00:00+08', 'Asia/Shanghai', '00:00'), '2026-03-10'::date, 'the session''s zone does not matter');
select throws_ok('select flight.operation_day(now(), ''Nowhere/None'', ''00:00'')', '22023', null, 'a zone that does not exist is an error, not a guess');
select * from finish();
rollback;
