"""Collects ``tests/sql/<schema>/<routine>/<behaviour>.sql``: each file is one test for each PostgreSQL version.

A file is plain SQL for pgTAP, run by the server's own psql in a fresh database with this release deployed. It is red if
it has no ``plan()``, no ``finish()``, a test that is not ok, marked TODO or skipped, another number of tests than
planned, an SQL error, or if a file is empty.
"""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from psycopg.conninfo import conninfo_to_dict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TIME_LIMIT = 120  # seconds for one file

_RESULT = re.compile(r"^(not )?ok (\d+)(.*)$")
_PLAN = re.compile(r"^1\.\.(\d+)(.*)$")
_DIRECTIVE = re.compile(r"#\s*(todo|skip)\b", re.IGNORECASE)
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


class Tap:
    """Judges one run; a plugin, so that a test can reach it."""

    @staticmethod
    def judge(text: str, output: str, errors: str, exit_code: int) -> list[str]:
        """What is wrong, as sentences; empty if all is well.

        Args:
            text: The SQL file.
            output: What psql printed on standard output, unaligned, tuples only.
            errors: What it printed on standard error.
            exit_code: Its exit code.
        """
        faults = []
        if exit_code != 0:
            faults.append(f"SQL error: {errors.strip() or f'psql ended with {exit_code}'}")
        if not re.search(r"\bfinish\s*\(", _COMMENT.sub("", text)):
            faults.append("finish() is missing.")
        plans = [match for line in output.splitlines() if (match := _PLAN.match(line))]
        results = [match for line in output.splitlines() if (match := _RESULT.match(line))]
        if len(plans) != 1:
            faults.append("plan() is missing." if not plans else "There is more than one plan().")
        elif int(plans[0][1]) != len(results) or not results:
            faults.append(f"{plans[0][1]} tests were planned and {len(results)} ran.")
        if [int(match[2]) for match in results] != list(range(1, len(results) + 1)):
            faults.append("The tests are not numbered one by one.")
        faults += [f"Failed: {match[0]}" for match in results if match[1]]
        faults += [
            f"Not really run: {match[0]}" for match in [*plans, *results] if _DIRECTIVE.search(match[match.re.groups])
        ]
        return faults


class TapError(Exception):
    """A pgTAP file is red."""


class SqlFile(pytest.File):
    """One file of pgTAP tests."""

    def collect(self) -> Iterator[pytest.Item]:
        """One item a version."""
        for version in self.config.pluginmanager.get_plugin("msgx-machines").versions:  # type: ignore[union-attr]  # registered by tests/conftest.py
            yield SqlItem.from_parent(self, name=f"{self.path.stem}[pg{version}]", version=version)


class SqlItem(pytest.Item):
    """One file on one version."""

    def __init__(self, *, version: int, **more: Any) -> None:
        super().__init__(**more)
        self.version = version

    def runtest(self) -> None:
        """Run it and judge."""
        machines: Any = self.config.pluginmanager.get_plugin("msgx-machines")
        with machines.database(self.version, "tap") as url:
            programs = machines.postgres(self.version).bin
            done = subprocess.run(
                [programs / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", self.path, _plain(url)],
                capture_output=True,
                env={"PGCLIENTENCODING": "UTF8", "LC_ALL": "C.UTF-8", "PGCONNECT_TIMEOUT": "10"},
                timeout=TIME_LIMIT,
                check=False,
            )
        output = done.stdout.decode("utf-8", "replace")
        faults = Tap.judge(
            self.path.read_text(encoding="utf-8"), output, done.stderr.decode("utf-8", "replace"), done.returncode
        )
        if faults:
            raise TapError("\n".join([*faults, "", output.rstrip()]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The sentences alone; a traceback through this file helps nobody."""
        if isinstance(excinfo.value, TapError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it is."""
        return self.path, 0, f"{self.path.name} on PostgreSQL {self.version}"


def _plain(url: str) -> str:
    return " ".join(f"{name}={value}" for name, value in conninfo_to_dict(url).items())


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Tap(), "msgx-tap")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".sql":
        return SqlFile.from_parent(parent, path=file_path)
    return None
