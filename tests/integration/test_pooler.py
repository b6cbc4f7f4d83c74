"""A pooler between us and PostgreSQL is refused at the start, not found out later (pitfall 39)."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from supervisor import database
from supervisor.config import Database
from supervisor.errors import ConfigError

from .supervised import Site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NEGOTIATIONS = {80877103, 80877104}  # SSLRequest, GSSENCRequest


class Pooler:
    """Passes everything on, but for the session's ``options``, as PgBouncer does with ``ignore_startup_parameters``."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._session, args=(client,), daemon=True).start()

    def _session(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client, socket.create_connection(("127.0.0.1", self._target)) as server:
            server.sendall(self._startup(client))
            threading.Thread(target=self._copy, args=(server, client), daemon=True).start()
            self._copy(client, server)

    @staticmethod
    def _startup(client: socket.socket) -> bytes:
        while True:
            (length,) = struct.unpack("!I", client.recv(4, socket.MSG_WAITALL))
            packet = client.recv(length - 4, socket.MSG_WAITALL)
            (code,) = struct.unpack("!I", packet[:4])
            if code not in NEGOTIATIONS:
                break
            client.sendall(b"N")
        words = packet[4:].split(b"\0")
        pairs = [(name, value) for name, value in zip(words[::2], words[1::2], strict=False) if name]
        kept = b"".join(name + b"\0" + value + b"\0" for name, value in pairs if name != b"options") + b"\0"
        return struct.pack("!II", len(kept) + 8, code) + kept

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@pytest.fixture
def pooled_url(database_url: str) -> Iterator[str]:
    port = int(urlsplit(database_url).port or 0)
    with contextlib.closing(Pooler(port)) as pooler:
        yield database_url.replace(f":{port}/", f":{pooler.port}/")


def test_a_pooler_that_drops_our_limits_is_refused(pooled_url: str, database_url: str) -> None:
    database.connect(Database(url=database_url), "test").close()
    with pytest.raises(ConfigError, match="pooler"):
        database.connect(Database(url=pooled_url), "test")


def test_the_supervisor_does_not_start_behind_one(
    pooled_url: str, tmp_path: Path, mailbox_url: str, bootstrap: str, topic: Callable[[str], str]
) -> None:
    site = Site(tmp_path, pooled_url, mailbox_url, bootstrap, topic("msg"), topic("schd"))
    run = site.start("run")
    try:
        assert run.process.wait(30) not in {0, None}
    finally:
        site.stop_all()
    assert "poolers" in run.said
    assert "Traceback" not in run.said
