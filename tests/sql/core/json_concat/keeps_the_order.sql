-- Pieces of an object, in the order given, byte for byte.
begin;
\ir ../common.psql
select plan(4);
select is(core.json_concat('{"b":1}', '{"a":{"c":[1, 2]}}')::text, '{"b":1,"a":{"c":[1, 2]}}', 'in order');
select is(core.json_concat('{"b":1}', null, '{}', '{"a":2}')::text, '{"b":1,"a":2}', 'without empty ones');
select is(core.json_concat(null, '{}')::text, '{}', 'nothing is an object too');
select is(core.json_concat('{"a":"}{,"}')::text, '{"a":"}{,"}', 'braces in a text');
select * from finish();
rollback;
