-- A roster's fingerprint: sha256 of the FLIDs, ascending, joined by commas.
begin;
select plan(5);
select is(ledger.roster_digest('{3,1,2}'), sha256('1,2,3'), 'ascending, joined by commas');
select is(ledger.roster_digest('{10,9}'), sha256('9,10'), 'as numbers');
select is(ledger.roster_digest('{}'), sha256(''), 'nobody');
select is(ledger.roster_digest(null), sha256(''), 'nothing');
select isnt(ledger.roster_digest('{1}'), ledger.roster_digest('{2}'), 'another roster, another fingerprint');
select * from finish();
rollback;
