-- Ids for a sentence.
begin;
\ir ../common.psql
select plan(4);
select is(core.id_list(array[3, 1, 2, 3]), '1, 2, 3', 'ascending, each once');
select is(core.id_list(array(select generate_series(1, 20))), '1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20', 'twenty are told');
select is(core.id_list(array(select generate_series(1, 25000))),
  '1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 … (25000 in all)', 'more are counted');
select is(core.id_list('{}'), null, 'none');
select * from finish();
rollback;
