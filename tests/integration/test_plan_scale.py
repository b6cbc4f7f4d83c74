"""A large day plan costs a handful of statements and transaction ids, whatever its size, and lands whole or not at all.

(Design section 7; pitfall 43.) Statements are counted by ``auto_explain``, which reports each one that the routines
run, with its plan, as a notice. Only those that touch a table count; a call of a small function for each record does
not. The checks of foreign keys are the server's own row triggers, and are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    import psycopg
    from psycopg.errors import Diagnostic

pytestmark = pytest.mark.every_pg

DAY = "2026-03-10"
AT = f"{DAY}T10:00:00+08:00"
SETS: dict[str, list[dict[str, Any]]] = {
    "GTDT": [{"source_seq": 1, "gate": "G1", "pgot": AT}, {"source_seq": 2, "gate": "G2"}],
    "CKDT": [{"source_seq": 1, "chkc": "C1", "pcot": AT}],
    "CLDT": [{"source_seq": 1, "belt": "B1"}],
    "CHDT": [{"source_seq": 1, "chut": "H1"}],
    "PSDT": [{"source_seq": 1, "psst": "S1", "stst": AT}],
    "CHOT": [{"source_seq": 1, "chtm": AT}],
    "DELY": [{"code": "11", "text": "late"}],
    "ABTM": [{"source_seq": 1, "abdg": "8"}],
    "ROUT": [{"source_seq": 1, "apcd": "SZX"}, {"source_seq": 2, "apcd": "PEK"}],
    "ERUT": [{"source_seq": 1, "apcd": "CAN"}],
}
TABLES = {
    "GTDT": "flight_gate",
    "CKDT": "flight_checkin",
    "CLDT": "flight_belt",
    "CHDT": "flight_chute",
    "PSDT": "flight_stand",
    "CHOT": "flight_chock",
    "DELY": "flight_delay",
    "ABTM": "flight_bridge",
    "ROUT": "flight_route_point",
    "ERUT": "flight_route_point",
}
_NODE = re.compile(r"^ *(?:-> +)?(?P<what>[^(\n]*?) +\(cost=", re.MULTILINE)
_TOUCHES = re.compile(r"^(?:(?:Seq|Index|Index Only|Bitmap Heap|Tid) Scan.*|Insert|Update|Delete|Merge) on ")
_FOREIGN_KEY = re.compile(r"Query Text: SELECT 1 FROM ONLY ")


@pytest.fixture(autouse=True)
def leader(pg: psycopg.Connection[Any]) -> None:
    """Epoch 1 leads, and every id is below the watermark."""
    pg.execute("update core.pipeline_lock set epoch = 1 where name = 'LEADER'")
    pg.execute("update inbox.inbox_cursor set watermark = 1000000")
    # a step is due for commit after each message, however fast the machine: the same steps in every run
    pg.execute("update core.setting set pipeline_commit_interval = '0'")


def stage_plan(pg: psycopg.Connection[Any], msg_id: int, flids: range, gate: str = "G1") -> None:
    """Stages a DNLD with every set in each flight; each tenth flight is a code share of the one before."""
    pg.execute("insert into inbox.proc_state (msg_id, enqueued_at, updated_at) values (%s, now(), now())", [msg_id])
    pg.execute(
        "insert into inbox.stage_message (msg_id, kind, sndr, type, styp, seqn, dttm, digest, declared, record_count)"
        " values (%s, 'SCHD_DNLD', 'AODB', 'SCHD', 'DNLD', %s, %s, '\\x01', %s, %s)",
        [msg_id, str(msg_id), AT, str(len(flids)), len(flids)],
    )
    with (
        pg.cursor() as cursor,
        cursor.copy(
            "copy inbox.stage_record (msg_id, ordinal, flid, flid_text, scalars, extra, sets) from stdin"
        ) as copy,
    ):
        copy.set_types(["int8", "int4", "int8", "text", "jsonb", "jsonb", "jsonb"])
        sets = SETS | {"GTDT": [SETS["GTDT"][0] | {"gate": gate}, SETS["GTDT"][1]]}
        for ordinal, flid in enumerate(flids, 1):
            scalars = {"flno": f"CA{flid}", "sodt": AT, "mvin": "D", "maxp": 170}
            if flid % 10 == 0:
                scalars["maid"] = flid - 1
            row = (msg_id, ordinal, flid, str(flid), *map(Jsonb, (scalars, {"RUNW": "02L"}, sets)))
            copy.write_row(row)


def pump(pg: psycopg.Connection[Any]) -> tuple[int, str]:
    """Processed messages, and why the pump stopped."""
    answer = pg.execute("call pipeline.pump(1, 1000, 120000)").fetchone()
    assert answer is not None
    return answer[0], answer[1]


class Statements:
    """What auto_explain reported: the statements that touch a table, by their text."""

    def __init__(self) -> None:
        self.by_text: Counter[str] = Counter()

    def __call__(self, diagnostic: Diagnostic) -> None:
        """Take one notice."""
        text = diagnostic.message_primary or ""
        if "Query Text: " not in text or _FOREIGN_KEY.search(text):
            return
        if any(_TOUCHES.match(node["what"]) for node in _NODE.finditer(text)):
            query = text[text.index("Query Text: ") + 12 :]
            self.by_text[" ".join(query[: next(_NODE.finditer(query)).start()].split())] += 1


@pytest.fixture
def watched(pg: psycopg.Connection[Any], pg_version: int) -> psycopg.Connection[Any]:
    """A connection whose routines' statements are reported."""
    pg.execute("load 'auto_explain'")
    pg.execute("set auto_explain.log_min_duration = 0")
    pg.execute("set auto_explain.log_nested_statements = on")
    pg.execute("set auto_explain.log_level = notice")
    if pg_version >= 16:
        pg.execute("set auto_explain.log_parameter_max_length = 0")  # arrays of 2,000 flights
    return pg


def count(pg: psycopg.Connection[Any], msg_id: int, flids: range, gate: str) -> Counter[str]:
    """The statements that one plan takes."""
    stage_plan(pg, msg_id, flids, gate)
    statements = Statements()
    pg.add_notice_handler(statements)
    assert pump(pg) == (1, "IDLE")
    pg.remove_notice_handler(statements)
    found = pg.execute("select state, last_error from inbox.proc_state where msg_id = %s", [msg_id]).fetchone()
    assert found == ("SUCCEEDED", None)
    return statements.by_text


@pytest.mark.parametrize("policy", ["retain", "ledger"])
def test_the_number_of_statements_does_not_depend_on_the_number_of_flights(
    watched: psycopg.Connection[Any], policy: str
) -> None:
    """New flights, the same again, and every gate changed: 200 flights and 2,000 take the same statements."""
    watched.execute("select core.setting_set('policy', %s)", [policy])
    small, large = range(1, 201), range(10_001, 12_001)
    rounds: list[tuple[str, Counter[str], Counter[str]]] = []
    for number, (name, gate) in enumerate([("new", "G1"), ("again", "G1"), ("changed", "G9")]):
        few = count(watched, 10 * number + 1, small, gate=gate)
        rounds.append((name, few, count(watched, 10 * number + 2, large, gate=gate)))
    assert watched.execute("select count(*) from flight.flight_gate where gate = 'G9'").fetchone() == (2200,)
    for name, few, many in rounds:
        assert 10 <= few.total() <= 120, (name, few.total(), few.most_common(5))
        extra = many - few
        assert many.total() <= few.total() * 1.1, (name, few.total(), many.total(), extra.most_common(5))


def test_a_plan_lands_in_a_handful_of_transactions(pg: psycopg.Connection[Any]) -> None:
    """Not a subtransaction a row: distinct xmin of all rows that a plan of 2,000 flights wrote."""
    stage_plan(pg, 1, range(1, 2001))
    assert pump(pg) == (1, "IDLE")
    rows = " union all ".join(
        f"select xmin::text as writer from {table}"
        for table in ["flight.flight_schd", "outbox.msg_event_msg", "outbox.msg_event_schd"]
        + [f"flight.{name}" for name in sorted(set(TABLES.values()))]
    )
    found = pg.execute(f"select count(distinct writer), count(*) from ({rows}) r").fetchone()
    assert found is not None
    writers, written = found
    assert written == 2000 + 1800 + 2000 + 2000 * sum(len(elements) for elements in SETS.values())
    assert writers <= 3
    assert pg.execute(
        "select count(distinct state_version), max(state_version) from flight.flight_schd"
    ).fetchone() == (
        1,
        1,
    ), "one version a message, mains with children too"


def test_one_flight_that_breaks_a_check_takes_everything_back(pg: psycopg.Connection[Any]) -> None:
    """Nothing of 2,000 flights stays; mended, the same message is applied whole."""
    stage_plan(pg, 1, range(1, 101))
    assert pump(pg) == (1, "IDLE")
    pg.execute("alter table flight.flight_gate add constraint only_for_this_test check (flid <> 1777)")
    stage_plan(pg, 2, range(1, 2001), gate="G9")
    processed, stop = pump(pg)
    assert (processed, stop) == (1, "HEAD_BACKOFF")
    assert pg.execute(
        "select state, error_class, error_sqlstate from inbox.proc_state where msg_id = 2"
    ).fetchone() == ("FAILED", "INFRA", "23514")
    assert pg.execute("select count(*), max(state_version) from flight.flight_schd").fetchone() == (100, 1)
    assert pg.execute("select count(*) from flight.flight_gate where gate = 'G9'").fetchone() == (0,)
    assert pg.execute("select count(*) from outbox.msg_event where message_id = 2").fetchone() == (0,)
    assert pg.execute("select result, count(*) from ledger.schd_snap_log where msg_id = 2 group by 1").fetchall() == [
        ("ROLLED_BACK", 1)
    ]
    pg.execute("alter table flight.flight_gate drop constraint only_for_this_test")
    pg.execute("update inbox.proc_state set next_attempt_at = now() where msg_id = 2")
    assert pump(pg) == (1, "IDLE")
    assert pg.execute("select count(*), max(state_version) from flight.flight_schd").fetchone() == (2000, 2)
    assert pg.execute("select count(*) from flight.flight_gate where gate = 'G9'").fetchone() == (2000,)
