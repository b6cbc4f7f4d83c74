-- A writer names the epoch it acts under.
begin;
\ir ../common.psql
select plan(6);
select lives_ok('select core.require_epoch(1)', 'the leader''s');
select throws_ok('select core.require_epoch(0)', 'MX010', 'leader epoch 0 is over', 'an old one');
select throws_ok('select core.require_epoch(2)', 'MX010', null, 'one that is none yet');
select throws_ok('select core.require_epoch(null)', 'MX010', null, 'none');
select isnt(pg_temp.hint('select core.require_epoch(0)'), '', 'it says what to do');
select is(pg_temp.allowed('select core.require_epoch(1)'), 'app', 'only the supervisor');
select * from finish();
rollback;
