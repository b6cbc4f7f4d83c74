"""The pgTAP collector calls red what is red."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "select plan(2);\nselect ok(true, 'a');\nselect ok(true, 'b');\nselect * from finish();\n"
TAP = "1..2\nok 1 - a\nok 2 - b\n"


@pytest.mark.parametrize(
    ("text", "output", "errors", "code", "said"),
    [
        (GOOD, TAP, "", 0, None),
        (GOOD, "# a diagnostic\n" + TAP, "", 0, None),
        (GOOD, "ok 1 - a\nok 2 - b\n1..2\n", "", 0, None),
        (GOOD, "ok 1 - a\nok 2 - b\n", "", 0, "plan() is missing"),
        (GOOD, TAP + "1..2\n", "", 0, "more than one plan()"),
        (GOOD, "1..3\nok 1 - a\nok 2 - b\n", "", 0, "3 tests were planned and 2 ran"),
        (GOOD, "1..1\nok 1 - a\nok 2 - b\n", "", 0, "1 tests were planned and 2 ran"),
        (GOOD, "1..2\nok 1 - a\nnot ok 2 - b\n", "", 0, "Failed: not ok 2 - b"),
        (GOOD, "1..2\nok 1 - a\nok 1 - b\n", "", 0, "not numbered"),
        (GOOD, "1..2\nok 1 - a\nok 2 - b # SKIP later\n", "", 0, "Not really run"),
        (GOOD, "1..2\nok 1 - a\nnot ok 2 - b # TODO later\n", "", 0, "Failed"),
        (GOOD, "1..0 # SKIP no\n", "", 0, "Not really run"),
        (GOOD, TAP, "psql:x.sql:3: ERROR:  no", 3, "SQL error: psql:x.sql:3: ERROR:  no"),
        (GOOD.replace("select * from finish", "-- finish"), TAP, "", 0, "finish() is missing"),
        ("", "", "", 0, "plan() is missing"),
    ],
)
def test_one_run_is_judged(
    pytestconfig: pytest.Config, text: str, output: str, errors: str, code: int, said: str | None
) -> None:
    judge: Any = pytestconfig.pluginmanager.get_plugin("msgx-tap")
    faults = judge.judge(text, output, errors, code)
    if said is None:
        assert faults == []
    else:
        assert any(said in fault for fault in faults)


@pytest.mark.parametrize(
    ("text", "red"),
    [
        ("select plan(1); select ok(true, 'a'); select * from finish();", False),
        ("select plan(1); select ok(false, 'a'); select * from finish();", True),
        ("select plan(2); select ok(true, 'a'); select * from finish();", True),
        ("select plan(1); select ok(true, 'a'); select 1 / 0; select * from finish();", True),
        ("select ok(true, 'a'); select * from finish();", True),
        ("select plan(1); select ok(true, 'a');", True),
        (
            "select plan(1); select is(current_setting('server_encoding'), 'UTF8', 'ä喆'); select * from finish();",
            False,
        ),
        ("select plan(1); select has_table('core', 'setting', 'deployed'); select * from finish();", False),
    ],
)
def test_a_file_is_run(request: pytest.FixtureRequest, tmp_path: Path, pg_version: int, text: str, red: bool) -> None:
    """Through the same item that the collector makes."""
    path = tmp_path / "behaviour.sql"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    made: list[Any] = request.config.hook.pytest_collect_file(file_path=path, parent=request.session)
    (file,) = [one for one in made if one is not None]
    (item,) = [item for item in file.collect() if item.version == pg_version]
    if red:
        with pytest.raises(Exception, match=r"."):
            item.runtest()
    else:
        item.runtest()
