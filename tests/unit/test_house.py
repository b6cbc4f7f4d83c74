"""Rules of the house that no other test would notice: rooms, imports, locks, migrations, habits (design 1, 10)."""

from __future__ import annotations

import ast
import re
import subprocess
import tokenize
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("loader", "supervisor", "demo")
MIGRATIONS = sorted(
    path for path in (ROOT / "db" / "migrations").glob("*.sql") if not path.name.endswith(".rollback.sql")
)
SOURCES = sorted(path for package in (*PACKAGES, "db", "tests") for path in (ROOT / package).rglob("*.py"))


def imports(path: Path) -> list[tuple[str, bool]]:
    """Module names a file imports, with whether at the top (not inside a function)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lazy = {
        id(node)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(outer)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, id(node) not in lazy) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append((node.module, id(node) not in lazy))
    return found


def comments(path: Path) -> list[str]:
    with path.open("rb") as file:
        return [token.string for token in tokenize.tokenize(file.readline) if token.type == tokenize.COMMENT]


def test_the_loader_knows_no_other_room_and_production_does_not_need_the_demo() -> None:
    wrong = []
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for name, at_the_top in imports(path):
                room = name.partition(".")[0]
                lazily = path.is_relative_to(ROOT / "supervisor" / "cli") and not at_the_top
                if (package == "loader" and room in {"supervisor", "demo"}) or (
                    package == "supervisor" and room == "demo" and not lazily
                ):
                    wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert wrong == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_source_file_keeps_the_habits(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if any(not isinstance(node, ast.Expr) for node in ast.parse(text).body):
        assert "from __future__ import annotations" in text
    for comment in comments(path):
        assert not re.search(r"\b(TODO|FIXME|XXX)\b", comment), comment
        if "type: ignore" in comment or "noqa" in comment:
            reason = re.search(r"(?:type: ignore\[[\w, -]+\]|noqa: [A-Z]+\d+(?:, ?[A-Z]+\d+)*)\s+(.{6,})", comment)
            assert reason, f"no reason beside it: {comment}"
    if path.is_relative_to(ROOT / "tests"):
        skips = [
            node.attr
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Attribute) and node.attr in {"skip", "skipif", "xfail", "importorskip"}
        ]
        assert skips == [], "a test that cannot run is a failure"


def locked() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pairs}


def test_every_dependency_is_one_exact_version_and_the_lock_agrees() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    versions = locked()
    for dependency in (one for group in groups for one in group if not one.startswith("msgexchange[")):
        match = re.fullmatch(r"([\w.-]+)(\[[\w,]+\])?==([\w.]+)", dependency)
        assert match, f"{dependency} is not one version"
        name = re.sub(r"[-_.]+", "-", match[1]).lower()
        assert versions.get(name) == match[3], f"{name}: run `make lock`"


def test_migrations_are_numbered_without_a_gap_each_after_the_one_before() -> None:
    assert [int(path.name[:4]) for path in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))
    for before, path in zip([None, *MIGRATIONS], MIGRATIONS, strict=False):
        depends = re.search(r"^-- depends:(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert depends is not None, path.name
        assert depends[1].split() == ([before.stem] if before else [])


@pytest.mark.parametrize("path", MIGRATIONS, ids=lambda path: path.stem)
def test_a_migration_waits_little_acts_as_the_owner_and_can_be_undone(path: Path) -> None:
    rollback = path.with_suffix(".rollback.sql")
    assert rollback.is_file(), "yoyo would unmark it and do nothing"
    for file in (path, rollback):
        code = re.sub(r"--[^\n]*|(\$\w*\$).*?\1", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        statements = [one.strip() for one in code.split(";") if one.strip()]
        assert re.match(r"set local lock_timeout = '\d+m?s'", statements[0]), file.name
        assert "set local role msgx_owner" in statements, file.name
        assert statements[-1] == "reset role", "yoyo's mark is written by whoever deploys"
        if path is not MIGRATIONS[0]:
            assert statements[1] == "set local role msgx_owner"
        assert "/*" not in code, "sqlparse splits nested comments wrongly"


def test_a_migration_calls_no_routine() -> None:
    names = [f"{path.parent.name}.{path.stem}" for path in (ROOT / "db" / "routines").glob("*/*.sql")]
    assert names
    for path in MIGRATIONS:
        code = re.sub(r"--[^\n]*|'[^']*'", "", path.read_text(encoding="utf-8"))
        called = [name for name in names if re.search(rf"\b{re.escape(name)}\s*\(", code)]
        assert called == [], path.name


STATE_ROOMS = {"flight", "ledger", "request", "refdata"}
MAY_CALL: dict[str, set[str]] = {
    "pipeline": STATE_ROOMS | {"outbox", "core", "inbox"},
    **{room: STATE_ROOMS | {"outbox", "core", "inbox"} for room in STATE_ROOMS},
    "history": STATE_ROOMS | {"outbox", "core", "inbox"},
    "outbox": {"core", "inbox"},
    "inbox": {"core"},
    "core": set(),
}
# The state's payload is built when it is claimed, so that intermediate versions cost nothing (design section 8).
UPWARD = {("outbox.claim", "flight.document")}


def test_calls_between_rooms_go_one_way() -> None:
    files = {f"{path.parent.name}.{path.stem}": path for path in (ROOT / "db" / "routines").glob("*/*.sql")}
    wrong = []
    for caller, path in files.items():
        code = re.sub(r"--[^\n]*", "", path.read_text(encoding="utf-8"))
        for called in files:
            room, other = caller.partition(".")[0], called.partition(".")[0]
            if room == other or other in MAY_CALL[room] or (caller, called) in UPWARD:
                continue
            if re.search(rf"\b{re.escape(called)}\s*\(", code):
                wrong.append(f"{caller} calls {called}")
    assert wrong == []


def test_the_wheel_holds_the_sql() -> None:
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    assert packages["targets"]["wheel"]["packages"] == ["db", *PACKAGES]
    assert (ROOT / "db" / "__init__.py").read_text(encoding="utf-8") == ""


def test_make_help_tells_every_target_that_people_use() -> None:
    said = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("venv", "test", "lint", "types", "demo", "model", "chaos", "bench", "clean"):
        assert re.search(rf"^{target}\s+\S", said, re.MULTILINE), target
