-- SRVT and VIPF: that they occurred, and what stood in them last; never merged, never published (implementation.md 11.3).
begin;
\ir ../../flights.psql
select plan(8);

create function pg_temp.kept() returns text
language sql as $fn$ select string_agg(format('%s %s%s %s', s.flid, s.section, s.ordinal, s.content), ', ' order by s.flid, s.section, s.ordinal) from flight.flight_section s $fn$;
select is(pg_temp.dnld(pg_temp.p(1) || '{"sections": {"SRVT": ["<a/>", "<b/>"], "VIPF": ["<v/>"]}}', pg_temp.p(2)), 'SUCCEEDED', 'a plan with both');
select is(pg_temp.kept(), '1 SRVT1 <a/>, 1 SRVT2 <b/>, 1 VIPF1 <v/>', 'kept as sent, in order');
select is(pg_temp.flop(1, 'SRVT', '{}', '{}', '{}', '{"SRVT": ["<c/>"]}') || ' ' || pg_temp.kept(), 'SUCCEEDED 1 SRVT1 <c/>, 1 VIPF1 <v/>', 'replaced section by section');
select is(pg_temp.flop(2, 'VIPF', '{"remc": "x"}', '{}', '{}', '{"VIPF": ["<w/>"]}') || ' ' || pg_temp.kept(), 'SUCCEEDED 1 SRVT1 <c/>, 1 VIPF1 <v/>, 2 VIPF1 <w/>', 'flight by flight');
select is(pg_temp.told(), '2 v2 [REMC]', 'no tag of CHANGED');
select is(pg_temp.doc(1) ?| '{SRVT,VIPF}', false, 'no part of the document');
select is(pg_temp.flop(999, 'SRVT', '{}', '{}', '{}', '{"SRVT": ["<c/>"]}') || pg_temp.note(), 'SUCCEEDEDunknown-flight', 'of an unknown flight: nothing');
select is((select row(s.message_id, s.seen_at = core.now())::text from flight.flight_section s where s.flid = 2), '(3,t)', 'with the message that brought it');
select * from finish();
rollback;
