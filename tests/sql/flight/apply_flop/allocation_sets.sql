-- SIS 3.24 to 3.26, 3.34, 3.38: the five sets that only the RMS assigns are refused in a FLOP, by presence and by STYP, before the
-- flight is looked up (retain); replaced like any set (ledger). Nothing of a refused message lands.
begin;
\ir ../../flights.psql
select plan(35);

create temp table allocation (tag text);
insert into allocation values ('GTDT'), ('CKDT'), ('CLDT'), ('CHDT'), ('PSDT');
create function pg_temp.one(p_tag text, p_elements jsonb) returns jsonb language sql as $fn$ select jsonb_build_object(p_tag, p_elements) $fn$;

select is(pg_temp.dnld(pg_temp.p(7701002, '2026-03-10', '{}', (select jsonb_object_agg(a.tag, pg_temp.elements(a.tag, 2)) from allocation a))), 'SUCCEEDED',
  'a day plan brings all five');
create temp table before as select pg_temp.fingerprint() as print, pg_temp.life(7701002) as life;

select is(pg_temp.flop(7701002, a.tag, '{}', pg_temp.one(a.tag, pg_temp.elements(a.tag, 1))), 'DEAD(PROTOCOL)', format('retain: FLOP-%s is refused', a.tag))
from allocation a;
select is(pg_temp.flop(7701002, a.tag, '{}', pg_temp.one(a.tag, '[]')), 'DEAD(PROTOCOL)', format('retain: so is an empty %s', a.tag)) from allocation a;
select is(pg_temp.flop(7701002, 'ESTT', '{"estt": null}', pg_temp.one(a.tag, '[]')), 'DEAD(PROTOCOL)', format('retain: %s under another STYP, beside a good tag', a.tag))
from allocation a;
select is(pg_temp.flop(7701002, lower(a.tag), '{"remc": "x"}'), 'DEAD(PROTOCOL)', format('retain: STYP %s without the set', lower(a.tag))) from allocation a;
select is(pg_temp.flop(7701002, 'GTDT'), 'DEAD(PROTOCOL)', 'retain: by STYP with no tag that is known');
select is(pg_temp.flop(999, 'GTDT', '{}', '{"GTDT": []}'), 'DEAD(PROTOCOL)', 'retain: for a flight nobody knows too');
select matches(pg_temp.note(), 'GTDT.*RMS', 'the reason names the set');
select is((select m.error_sqlstate from inbox.proc_state m where m.msg_id = pg_temp.last()), 'MX001', 'and its SQLSTATE is kept');
select is(row(pg_temp.fingerprint(), pg_temp.life(7701002))::text, (select b::text from before b), 'nothing of any of them landed');

select pg_temp.policy('ledger');
select is(
  concat_ws(' ', pg_temp.flop(7701002, a.tag, '{}', pg_temp.one(a.tag, pg_temp.elements(a.tag, 3))), substring(pg_temp.told() from '\[.*\]'),
    pg_temp.doc(7701002) -> a.tag = pg_temp.shown(a.tag, pg_temp.elements(a.tag, 3))),
  format('SUCCEEDED [%s] t', a.tag), format('ledger: %s is replaced', a.tag))
from allocation a;
select is(
  concat_ws(' ', pg_temp.flop(7701002, 'ESTT', '{"remc": "x"}', '{"GTDT": [], "PSDT": []}'), pg_temp.told(), pg_temp.doc(7701002) ?| '{GTDT,PSDT}',
    pg_temp.doc(7701002) ?& '{CKDT,CLDT,CHDT}'),
  'SUCCEEDED 7701002 v7 [REMC GTDT PSDT] f t', 'ledger: an empty set clears, an absent one stays');
select is(
  concat_ws(' ', pg_temp.flop(7701002, 'GTDT', '{"remc": "y"}'), pg_temp.told()), 'SUCCEEDED 7701002 v8 [REMC]', 'ledger: the STYP alone refuses nothing');
select is(concat_ws(' ', pg_temp.flop(7701002, 'GTDT'), pg_temp.note()), 'SUCCEEDED unmapped:GTDT', 'ledger: nothing known inside is unmapped');
update core.setting set policy_allocation_flop = 'REFUSE';
select is(pg_temp.flop(7701002, 'GTDT', '{}', '{"GTDT": []}'), 'DEAD(PROTOCOL)', 'the switch alone decides');
select * from finish();
rollback;
