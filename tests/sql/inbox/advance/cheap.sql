-- The cursor is updated in place, and a full batch costs a few statements.
begin;
\ir ../common.psql
select plan(3);
select pg_temp.advance(1);
create function pg_temp.hot() returns bigint language sql as $fn$ select pg_stat_get_xact_tuples_hot_updated('inbox.inbox_cursor'::regclass) $fn$;
create function pg_temp.updated() returns bigint language sql as $fn$ select pg_stat_get_xact_tuples_updated('inbox.inbox_cursor'::regclass) $fn$;
do $$ begin for i in 2..40 loop perform inbox.advance(1, array[i]::bigint[], null); end loop; end $$;
select is(pg_temp.updated(), 40::bigint, 'one update a round');
select is(pg_temp.hot(), pg_temp.updated(), 'all in place');
select is((select count(*) from inbox.advance(1, array(select generate_series(41, 10040)), null)), 10000::bigint, 'ten thousand rows');
select * from finish();
rollback;
