"""The optional web server: an entry for messages, health, metrics.

``POST /cminmsgs/send`` (implementation.md 4.4) writes a body into the mailbox and then registers it here. The two
cannot be one transaction, so the answer says which of them happened:

- 201: in the mailbox and registered. ``waits_for_watermark`` says that intake has to come by first; order is kept.
- 202: in the mailbox, not registered; intake takes it in by itself. Do not send it again.
- 400, 401, 413: refused, nothing was written. 403: no token is configured, so the entry is closed.
- 503: the mailbox failed, and it is not known whether the body was written. Sending it again is safe: the business
  identity makes a second one SKIPPED.

``/healthz`` says that the process answers, ``/readyz`` that it leads or stands by and no duty is hung or failing,
``/metrics`` the numbers. They bind to the loopback unless told otherwise.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import socket
import threading
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import psycopg
import uvicorn
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from loader.mailbox import BodyRefused, Mailbox, MailboxUnavailable
from supervisor import database
from supervisor.errors import ConfigError, MsgxError, one_line
from supervisor.logs import logger
from supervisor.metrics import Metrics

if TYPE_CHECKING:
    from starlette.requests import Request

    from supervisor.config import Settings
    from supervisor.duties import Board
    from supervisor.lease import LeaseKeeper

BODY_TIMEOUT = 30.0  # seconds in which a body must have arrived
CONNECTIONS = 64  # at once; more are answered 503 by the server
DEFAULT_ZONE = "Asia/Shanghai"  # of core.setting, where that cannot be asked


class TooLarge(Exception):
    """The body is larger than ``max_body_bytes``."""


class Application:
    """The routes, over one supervisor.

    Args:
        settings: Token, sizes, addresses.
        board: The duties, to be nudged and judged.
        keeper: Whether we lead.
    """

    def __init__(self, settings: Settings, board: Board, keeper: LeaseKeeper) -> None:
        self._settings = settings
        self._board = board
        self._keeper = keeper
        self._zone: ZoneInfo | None = None
        self._log = logger(duty="http")
        self.metrics = Metrics(settings, board)
        self.routes = Starlette(
            routes=[
                Route("/cminmsgs/send", self.send, methods=["POST"]),
                Route("/healthz", self.healthz),
                Route("/readyz", self.readyz),
                Route("/metrics", self.scrape),
            ],
            exception_handlers={Exception: self.fault},
        )

    # Messages

    async def send(self, request: Request) -> Response:
        """``POST /cminmsgs/send``: the body is one message, as bytes of the encoding that it declares."""
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        try:
            async with asyncio.timeout(BODY_TIMEOUT):
                body = await self._body(request)
        except TooLarge:
            return _answer(413, f"The body is larger than {self._settings.http.max_body_bytes} bytes.")
        except TimeoutError:
            return _answer(408, f"The body did not arrive within {BODY_TIMEOUT:.0f} s.")
        except ClientDisconnect:
            return _answer(400, "The client went away.")
        except asyncio.CancelledError:  # the server's own grace is over, and with it this request
            return _answer(503, "The supervisor stops; nothing was written.", mailbox="not written", registered=False)
        if not body.strip():
            return _answer(400, "The body is empty: send one XML message.")
        return await run_in_threadpool(self._store, body)

    def _refusal(self, request: Request) -> Response | None:
        token = self._settings.http.token
        if token is None:
            return _answer(403, "This entry is closed: set [http] token to open it.")
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        known = hmac.compare_digest(given.strip().encode(), token.get_secret_value().encode())
        if scheme.lower() != "bearer" or not known:
            return _answer(401, "Send the header `Authorization: Bearer …` with the token of [http] token.")
        return None

    async def _body(self, request: Request) -> bytes:
        limit = self._settings.http.max_body_bytes
        declared = request.headers.get("content-length", "0")
        if declared.isdecimal() and int(declared) > limit:
            raise TooLarge
        parts: list[bytes] = []
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > limit:
                raise TooLarge
            parts.append(part)
        return b"".join(parts)

    def _store(self, body: bytes) -> Response:
        """Mailbox first, then our own registration; each over a connection of this request."""
        connection: database.Connection | None = None
        trouble = ""
        try:
            connection = database.connect(self._settings.database, "http")
            self._zone = ZoneInfo(database.setting(connection, "airport_timezone"))
        except (MsgxError, psycopg.Error) as error:
            trouble = one_line(error)
        try:
            with Mailbox(
                self._settings.mailbox.for_loader(self._settings.http.max_body_bytes),
                self._zone or ZoneInfo(DEFAULT_ZONE),
            ) as mailbox:
                id_ = mailbox.send(body)
            return self._register(connection, id_, trouble)
        except BodyRefused as error:
            return _answer(400, f"{error} Nothing was written.", mailbox="not written", registered=False)
        except MailboxUnavailable as error:
            self._log.warning(f"A message that came by HTTP may not be in the mailbox: {error}")
            return _answer(
                503,
                f"{error} It is not known whether the message was written; sending it again is safe.",
                mailbox="unknown",
                registered=False,
            )
        finally:
            if connection is not None:
                connection.close()

    def _register(self, connection: database.Connection | None, id_: int, trouble: str) -> Response:
        waits = False
        if connection is not None and not trouble:
            try:
                waits = database.enqueue(connection, id_)
            except (MsgxError, psycopg.Error) as error:
                trouble = one_line(error)
        self._board.nudge("intake", "pump")
        if trouble:
            self._log.warning(f"Message {id_} came by HTTP and is in the mailbox only: {trouble}", message_id=id_)
            return _answer(
                202,
                f"Message {id_} is in the mailbox and will be taken in from there; do not send it again. ({trouble})",
                id=id_,
                mailbox="written",
                registered=False,
            )
        self._log.info(f"Message {id_} came by HTTP", message_id=id_)
        says = f"Message {id_} is in the mailbox and registered."
        return _answer(201, says, id=id_, mailbox="written", registered=True, waits_for_watermark=waits)

    async def fault(self, request: Request, error: Exception) -> Response:
        """Anything unforeseen: a sentence, and the details in the log."""
        self._log.error(f"A fault of ours at {request.url.path}: {one_line(error)}", exc_info=error)
        return _answer(500, "A fault of ours; the log has it. If this was a message, it may be in the mailbox.")

    # Health

    async def healthz(self, _request: Request) -> Response:
        """The process answers."""
        return JSONResponse({"status": "ok"})

    async def readyz(self, _request: Request) -> Response:
        """Leading or standing by, and no duty hung or failing; 503 names those that are."""
        leading = self._keeper.holds()
        duties = {
            one.name: {
                "running_for": one.running_for,
                "hung": one.hung,
                "failures": one.failures,
                "success_age": one.success_age,
                "trouble": one.trouble,
            }
            for one in self._board.health()
        }
        bad = sorted(name for name, one in duties.items() if one["hung"] or one["failures"])
        content = {
            "status": "ok" if not bad else "trouble",
            "role": "leader" if leading else "standby",
            "leader": self._keeper.holder if leading else self._keeper.other or None,
            "trouble": bad,
            "duties": duties,
        }
        return JSONResponse(content, status_code=503 if bad else 200)

    async def scrape(self, _request: Request) -> Response:
        """Prometheus."""
        return Response(await run_in_threadpool(self.metrics.text), media_type=CONTENT_TYPE_LATEST)


def _answer(code: int, says: str, **more: Any) -> JSONResponse:
    return JSONResponse({"message": says, **more}, status_code=code)


class Server:
    """The application on a thread of its own.

    Args:
        settings: Bind address and port.
        board: As for :class:`Application`.
        keeper: As for :class:`Application`.

    Raises:
        ConfigError: the address cannot be bound.
    """

    def __init__(self, settings: Settings, board: Board, keeper: LeaseKeeper) -> None:
        http = settings.http
        try:
            family = socket.AF_INET6 if ":" in http.bind else socket.AF_INET
            self._socket = socket.create_server((http.bind, http.port), family=family, backlog=128)
        except OSError as error:
            raise ConfigError(
                f"[http] cannot listen on {http.bind}:{http.port}: {error.strerror}.",
                "Another program may have that port, or a second supervisor of this machine.",
            ) from error
        self._application = Application(settings, board, keeper)
        self._server = uvicorn.Server(
            uvicorn.Config(
                self._application.routes,
                log_config=None,
                access_log=False,
                lifespan="off",
                limit_concurrency=CONNECTIONS,
                timeout_keep_alive=5,
                timeout_graceful_shutdown=2,
            )
        )
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # its faults are told by Application.fault
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="msgx-http", daemon=True
        )

    @property
    def port(self) -> int:
        """The port, also where 0 was asked for."""
        port: int = self._socket.getsockname()[1]
        return port

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()
        logger().info(f"Listening on http://{self._socket.getsockname()[0]}:{self.port}")

    def stop(self) -> None:
        """Finish what is being answered, for two seconds at most."""
        self._server.should_exit = True
        self._thread.join(timeout=3)
        self._application.metrics.close()
        self._socket.close()
