-- Durations as people write them; each reads back as what it was.
begin;
\ir ../common.psql
select plan(3);
select results_eq(
  $$select core.duration(d::interval) from unnest(array['0', '50 ms', '1 s', '90 s', '2 min', '10 min', '1 h 30 min', '24 h', '7 days', '1 day 1 ms', '1 min 1.5 s']) d$$,
  array['0s', '50ms', '1s', '1m30s', '2m', '10m', '1h30m', '24h', '7d', '1d1ms', '1m1s500ms'], 'short forms');
select results_eq(
  $$select core.duration(d::interval) from unnest(array['1 month', '-1 s', '0.000001 s']) d$$,
  array['1 mon', '-00:00:01', '00:00:00.000001'], 'what has no short form stays as it is');
select is(count(*) filter (where core.duration(d)::interval is distinct from d), 0::bigint, 'all read back')
from unnest(array['0', '50 ms', '90 s', '1 h 30 min', '24 h', '7 days', '1 day 1 ms', '1 min 1.5 s', '1 month', '-1 s']::interval[]) d;
select * from finish();
rollback;
