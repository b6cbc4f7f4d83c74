"""The line that every figure needs beside it: hardware, versions, and what a flush to this disk costs."""

from __future__ import annotations

import os
import platform
import re
import statistics
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psycopg

    from demo.servers import PostgresServer

FLUSHES = 300


def hardware() -> str:
    """Processor, cores, memory, kernel, and how busy the machine is at this moment."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    memory = int(re.search(r"^MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text(encoding="utf-8"), re.MULTILINE)[1])  # type: ignore[index]  # Linux has it
    return (
        f"{model[1] if model else platform.machine()}, {len(os.sched_getaffinity(0))} cores, {memory / 2**20:.0f} GB, "
        f"Linux {platform.release()}, load {os.getloadavg()[0]:.1f} before the run"
    )


def versions(connection: psycopg.Connection[tuple[str]]) -> str:
    """PostgreSQL's version and the settings that decide what a commit costs."""
    shown = [
        f"{name}={connection.execute(f'show {name}').fetchone()[0]}"  # type: ignore[index]  # SHOW has a row
        for name in ("synchronous_commit", "fsync", "full_page_writes", "wal_sync_method", "shared_buffers", "jit")
    ]
    return f"PostgreSQL {connection.info.parameter_status('server_version')}, {', '.join(shown)}"


def flush_latency(server: PostgresServer) -> str:
    """Microseconds of one 8 kB fdatasync where the server's data are, by pg_test_fsync where it is there."""
    program = server.bin / "pg_test_fsync"
    place = server.data / "flush-test"
    if program.is_file():
        done = subprocess.run(
            [program, "-s", "1", "-f", place], capture_output=True, text=True, check=False, timeout=120
        )
        place.unlink(missing_ok=True)
        found = re.search(r"^\s*fdatasync\s+[\d.]+ ops/sec\s+(\d+) usecs/op", done.stdout, re.MULTILINE)
        if found:
            return f"fdatasync {found[1]} µs (pg_test_fsync)"
    return f"fdatasync {_own_flushes(place):.0f} µs (median of {FLUSHES} of our own)"


def _own_flushes(place: Path) -> float:
    times = []
    handle = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.write(handle, bytes(8192))
        os.fsync(handle)
        for _ in range(FLUSHES):
            os.pwrite(handle, os.urandom(8192), 0)
            began = time.perf_counter()
            os.fdatasync(handle)
            times.append(time.perf_counter() - began)
    finally:
        os.close(handle)
        place.unlink()
    return statistics.median(times) * 1e6
