"""What a mailbox may be called, and what its errors say."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import MagicMock
from zoneinfo import ZoneInfo

import pytest

from loader.mailbox import Mailbox, MailboxConfig, MailboxUnavailable

URL = "mysql://m%40n:p%3Aw%2Fd@host.example:3307/mail%20box"
CONFIG = MailboxConfig(url=URL)


def test_an_address_is_taken_apart() -> None:
    config = MailboxConfig(url=URL)
    assert config.connect_arguments() == {
        "host": "host.example",
        "port": 3307,
        "user": "m@n",
        "password": "p:w/d",
        "database": "mail box",
    }
    local = MailboxConfig(url="mariadb://root@localhost/m?unix_socket=/run/my.sock").connect_arguments()
    assert (local["unix_socket"], local["port"]) == ("/run/my.sock", 3306)
    secure = MailboxConfig(url=URL + "?ssl_ca=/etc/ca.pem").connect_arguments()
    assert (secure["ssl_ca"], secure["ssl_verify_cert"], secure["ssl_verify_identity"]) == ("/etc/ca.pem", True, True)
    with pytest.raises(ValueError, match="charset"):
        MailboxConfig(url=URL + "?charset=gbk")


def test_the_password_is_never_shown() -> None:
    config = MailboxConfig(url=URL)
    assert config.place == "host.example:3307/mail box"
    assert "p:w" not in repr(config) + config.place
    assert "p%3Aw" not in repr(config)


@pytest.mark.parametrize("url", ["", "postgresql://h/d", "mysql://host", "mysql://host/", "host/d", "mysql://h:x/d"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        MailboxConfig(url=url)


@pytest.mark.parametrize(
    "field", ["table", "id_column", "body_column", "received_column", "flag_column", "flag_at_column"]
)
@pytest.mark.parametrize("name", ["", "a b", "a`b", "a;b", "1a", "a-b", "a.b.c", ".a", "a" * 65, "a\n"])
def test_names_become_part_of_statements_and_are_checked(field: str, name: str) -> None:
    with pytest.raises(ValueError, match=r"plain identifier|not a name"):
        replace(CONFIG, **{field: name})  # type: ignore[arg-type]  # the name of a field is not its type


def test_only_the_table_may_be_qualified() -> None:
    assert MailboxConfig(url=URL, table="schema_1.MSGS$").table == "schema_1.MSGS$"
    with pytest.raises(ValueError, match="id_column"):
        MailboxConfig(url=URL, id_column="a.b")


@pytest.mark.parametrize("field", ["connect_timeout", "read_timeout", "write_timeout", "lock_wait", "max_body_bytes"])
def test_every_wait_has_a_bound(field: str) -> None:
    with pytest.raises(ValueError, match=field):
        replace(CONFIG, **{field: 0})  # type: ignore[arg-type]  # as above


@pytest.mark.parametrize(
    ("code", "lost"),
    [(None, True), (0, True), (2006, True), (2013, True), (1927, True), (1205, False), (1213, False), (1146, False)],
)
def test_a_lost_connection_is_told_from_a_failed_statement(code: int | None, lost: bool) -> None:
    assert MailboxUnavailable("The mailbox is gone.", code).lost is lost


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit(1)])
def test_a_stop_in_the_middle_gives_the_connection_up(monkeypatch: pytest.MonkeyPatch, stop: BaseException) -> None:
    connection = MagicMock()
    connection.cursor.return_value.__exit__.return_value = False
    connection.cursor.return_value.__enter__.return_value.execute.side_effect = stop
    mailbox = Mailbox(CONFIG, ZoneInfo("Asia/Shanghai"))
    monkeypatch.setattr(mailbox, "_connect", lambda: connection)
    with pytest.raises(type(stop)):
        mailbox.bounds()
    connection.close.assert_called_once()


def test_nobody_listens() -> None:
    mailbox = Mailbox(
        MailboxConfig(url="mysql://me:secret@127.0.0.1:1/m", connect_timeout=2), ZoneInfo("Asia/Shanghai")
    )
    with pytest.raises(MailboxUnavailable, match=r"^The mailbox at 127\.0\.0\.1:1/m cannot be read: .*\.$") as caught:
        mailbox.bounds()
    assert "secret" not in str(caught.value)
    assert caught.value.lost
    (result,) = mailbox.mark([(1, "OK")])
    assert (result.outcome, result.error) == ("TRANSIENT", str(caught.value))
