-- Every scalar column and every site scalar, not only those with a subtype: absent, empty and value are three outcomes (pitfall 7).
begin;
\ir ../../flights.psql
select plan(153);

create temp table scalar as
select a.attname::text as field, a.attnum as place, format_type(a.atttypid, null) as type,
  case format_type(a.atttypid, null)
    when 'timestamp with time zone' then '"2026-03-10T11:00:00+08:00"' when 'text' then '"one"'
    -- its own FLID: a flight that is nobody's child, so that its notices can be seen
    else case a.attname when 'maid' then '7701002' else '11' end end::jsonb as one,
  case format_type(a.atttypid, null)
    when 'timestamp with time zone' then '"2026-03-10T12:00:00+08:00"' when 'text' then '"two"' else '12' end::jsonb as two
from pg_attribute a
where a.attrelid = 'flight.flight_schd'::regclass and a.attnum > 0
  and a.attname not in ('flid', 'state', 'state_version', 'updated_at', 'operation_day', 'last_message_id', 'created_at', 'extra')
union all
select u.tag, 1000 + u.place, 'site', u.one, u.two
from (values
  ('TOBT', 1, '"2026-03-10T11:00:00+08:00"'::jsonb, '"2026-03-10T12:00:00+08:00"'::jsonb), ('RUNW', 2, '"02L"', '"20R"'),
  ('FLAB', 3, '"a \"quoted\" 䶮"', '"b"')) u(tag, place, one, two);

create function pg_temp.try(p_case scalar, p_value jsonb) returns text
language plpgsql as $fn$
begin
  -- TAOP, TAFL and TAID break as one; they have a file of their own.
  if p_case.type = 'site' then
    perform pg_temp.flop(7701002, 'X', '{}', '{}', jsonb_build_object(p_case.field, p_value));
  else
    perform pg_temp.flop(7701002, 'X', jsonb_build_object(p_case.field, p_value));
  end if;
  return concat_ws(' ', pg_temp.state(pg_temp.last()), pg_temp.doc(7701002) -> upper(p_case.field), substring(pg_temp.told() from '\[.*\]'));
end
$fn$;

select is(count(*), 49::bigint, '46 scalars of the catalogue and 3 of the site') from scalar;
select is(pg_temp.adft(pg_temp.f(7701002)), 'SUCCEEDED', 'a bare flight');

select is(pg_temp.try(s, s.one), format('SUCCEEDED %s [%s]', s.one, upper(s.field)), s.field || ': from nothing to a value')
from scalar s order by s.place;
select is(
  concat_ws(' ', pg_temp.flop(7701002, 'X', case s.field when 'remc' then '{"acft": "one"}' else '{"remc": "one"}' end::jsonb), pg_temp.doc(7701002) -> upper(s.field)),
  format('SUCCEEDED %s', s.one), s.field || ': absent keeps')
from scalar s where s.field not in ('taop', 'tafl', 'taid') order by s.place;
select is(pg_temp.try(s, s.two), format('SUCCEEDED %s [%s]', s.two, upper(s.field)), s.field || ': another value') from scalar s where s.field = 'remc';
select is(pg_temp.try(s, s.one), format('SUCCEEDED %s [%s]', s.one, upper(s.field)), s.field || ': and back') from scalar s where s.field = 'remc';
select is(pg_temp.try(s, 'null'), format('SUCCEEDED [%s]', upper(s.field)), s.field || ': empty clears')
from scalar s where s.field not in ('taop', 'tafl', 'taid') order by s.place;
select is(pg_temp.try(s, 'null'), 'SUCCEEDED []', s.field || ': empty again changes nothing') from scalar s where s.field in ('estt', 'maxp', 'RUNW');
select is(
  (select jsonb_object_agg(k.key, k.value) from jsonb_each(pg_temp.doc(7701002)) k where k.key not in ('TAOP', 'TAFL', 'TAID')), null::jsonb,
  'nothing is left but the turnaround link');
select is((select f.extra from flight.flight_schd f), '{}'::jsonb, 'and no site scalar with a null');
select is(pg_temp.flop(7701002, 'TAOP', '{"taop": null}'), 'SUCCEEDED', 'the link breaks');
select is(pg_temp.doc(7701002), '{}'::jsonb, 'nothing is left');
select is(pg_temp.life(7701002), 'ACTIVE v' || pg_temp.last() || ' of no day', 'a version a message');
select * from finish();
rollback;
