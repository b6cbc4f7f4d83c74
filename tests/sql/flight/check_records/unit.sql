-- The checks a plan and an ADFT share, called alone: RECS only where it counts, numeric FLIDs, none twice, first fault first.
begin;
\ir ../../flights.psql
select plan(10);

create function pg_temp.judged(p_counted boolean, p_meta jsonb, variadic p_records jsonb[]) returns text
language plpgsql as $fn$
declare
  v_id constant bigint := pg_temp.stage('SCHD_DNLD', p_records, p_meta);
  v_hint text;
begin
  perform flight.check_records((select s from inbox.stage_message s where s.msg_id = v_id), p_counted);
  return 'sound';
exception
  when others then
    get stacked diagnostics v_hint = pg_exception_hint;
    return sqlstate || ': ' || sqlerrm || case when v_hint = '' then ' (no hint)' else '' end;
end
$fn$;

select is(pg_temp.judged(true, '{}', pg_temp.p(1), pg_temp.p(2)), 'sound', 'a sound plan');
select is(pg_temp.judged(true, '{}', variadic '{}'), 'sound', 'an empty one');
select is(pg_temp.judged(true, '{"declared": "9999"}', pg_temp.p(1)), 'MX001: SCHD-DNLD 3 announces 9999 records and carries 1', '9999 is a possible number');
select is(pg_temp.judged(true, '{"declared": "10000"}', pg_temp.p(1)), 'MX001: RECS of SCHD-DNLD 4 is ''10000'', not 0 to 9999', '10000 is not');
select is(pg_temp.judged(true, '{"declared": null}', pg_temp.p(1)), 'MX001: SCHD-DNLD 5 has no RECS', 'none');
select is(pg_temp.judged(false, '{"declared": "x"}', pg_temp.p(1)), 'sound', 'where it does not count it is not read');
select is(pg_temp.judged(false, '{}', pg_temp.p(1), pg_temp.p(null)), 'MX001: record 2 of SCHD-DNLD 7 has no FLID', 'a record without FLID');
select is(pg_temp.judged(false, '{}', pg_temp.p(1) || '{"flid": "it''s"}'), 'MX001: record 1 of SCHD-DNLD 8 has the FLID ''it''''s'', not 1 to 12 digits', 'one that is no number, quoted');
select is(pg_temp.judged(false, '{}', pg_temp.p(1), pg_temp.p(2), pg_temp.p(1), pg_temp.p(2)), 'MX001: FLID 1 stands in records 1 and 3 of SCHD-DNLD 9', 'one twice: the first such');
select is(pg_temp.judged(true, '{"declared": "7"}', pg_temp.p(null)), 'MX001: SCHD-DNLD 10 announces 7 records and carries 1', 'RECS is judged first');
select * from finish();
rollback;
