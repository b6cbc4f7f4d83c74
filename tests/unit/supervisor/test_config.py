"""msgx.toml and the environment: what wins, and that every wrong key or value is a sentence."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from supervisor import config
from supervisor.config import Settings
from supervisor.errors import ConfigError

EXAMPLE = Path(__file__).resolve().parents[3] / "msgx.toml.example"


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.upper().startswith("MSGX_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def refused(match: str) -> str:
    with pytest.raises(ConfigError, match=match) as caught:
        config.load()
    said = str(caught.value)
    assert said.endswith((".", "?"))
    assert "\n" not in said
    return said


def test_the_example_is_complete_and_shows_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = config.load()
    monkeypatch.setenv("MSGX_CONFIG", str(EXAMPLE))
    assert config.load() == defaults
    content = tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))
    for section, field in Settings.model_fields.items():
        keys = set(getattr(field.annotation, "model_fields", {})) - {"token"}
        assert set(content[section]) == keys, section
        for key, nested in getattr(field.annotation, "model_fields", {}).items():
            inner = getattr(nested.annotation, "model_fields", None)
            if inner:
                assert set(content[section][key]) == set(inner), key


def test_the_environment_wins_over_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "msgx.toml").write_text('[kafka]\nbootstrap = "file:1"\ntopic_msg = "from.file"\npartitions = 9\n')
    monkeypatch.setenv("MSGX_KAFKA__TOPIC_MSG", "from.environment")
    monkeypatch.setenv("MSGX_KAFKA_BOOTSTRAP", "environment:1")
    monkeypatch.setenv("MSGX_DATABASE_URL", "postgresql://a@b/c")
    monkeypatch.setenv("MSGX_SUPERVISOR__INTERVAL__INTAKE", "0.25")
    monkeypatch.setenv("MSGX_KAFKA__CLIENT", '{"sasl.username": "u"}')
    settings = config.load()
    assert settings.kafka.bootstrap == "environment:1"
    assert settings.kafka.topic_msg == "from.environment"
    assert settings.kafka.partitions == 9
    assert settings.kafka.client == {"sasl.username": "u"}
    assert settings.database.url == "postgresql://a@b/c"
    assert settings.supervisor.interval.intake == 0.25


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSGX_KAFKA_BOOTSTRAP", "")
    monkeypatch.setenv("MSGX_KAFKA__TOPIC_MSG", "")
    assert config.load().kafka == config.Kafka()


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("MSGX_KAFKA__TOPIC_MSG", "a b", r"MSGX_KAFKA__TOPIC_MSG \('a b'\) is no topic name"),
        ("MSGX_KAFFKA__X", "1", "MSGX_KAFFKA__X, but there is no such key"),
        ("MSGX_KAFKA__X", "1", "MSGX_KAFKA__X, but there is no such key. Known here: bootstrap"),
        ("MSGX_KAFKA_TOPIC_MSG", "1", "two underscores: MSGX_KAFKA__TOPIC_MSG"),
        ("MSGX_DATABASE_URL", "mysql://a/b", "MSGX_DATABASE_URL is no address of the form postgresql"),
        ("MSGX_MAILBOX_URL", "mysql://a", "form mysql"),
        ("MSGX_MAILBOX__TABLE", "a b", "'a b'"),
        ("MSGX_MAILBOX__FLAG_COLUMN", "x; drop table y", "is not a plain identifier"),
        ("MSGX_SUPERVISOR__LEASE_TTL", "soon", r"MSGX_SUPERVISOR__LEASE_TTL \('soon'\)"),
        ("MSGX_SUPERVISOR__INTERVAL__PUMP", "-1", "greater than 0"),
        ("MSGX_KAFKA__CLIENT", '{"acks": 1}', "may not set acks"),
        ("MSGX_KAFKA__CLIENT", "acks=1", "JSON"),
        ("MSGX_HTTP__TOKEN", "short", "fewer than 16 characters"),
        ("MSGX_HTTP__PORT", "99999", "65535"),
        ("MSGX_LOG__LEVEL", "loud", "MSGX_LOG__LEVEL"),
        ("MSGX_CONFIG", "/does/not/exist.toml", "does not exist"),
    ],
)
def test_a_wrong_value_is_a_sentence(monkeypatch: pytest.MonkeyPatch, name: str, value: str, match: str) -> None:
    monkeypatch.setenv(name, value)
    refused(match)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("[kafka\n", "no valid TOML"),
        ("kafka = 1\n", r"must be a section, \[kafka\]"),
        ("[kafka]\nbla = 1\n", r"msgx.toml: \[kafka\] bla is no key we know; known here: bootstrap"),
        ("[nothing]\nx = 1\n", "nothing is no key we know; known here: database"),
        ('[supervisor.limit]\npump = "x"\n', r"\[supervisor.limit\] pump \('x'\)"),
        ("[kafka]\npartitions = 0\nbla = 1\n", "partitions.*bla"),
    ],
)
def test_a_wrong_file_is_a_sentence(tmp_path: Path, text: str, match: str) -> None:
    (tmp_path / "msgx.toml").write_text(text)
    refused(match)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "msgx.toml").write_bytes(b"\xff\xfe\x00")
    refused("not UTF-8")


def test_a_secret_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSGX_DATABASE_URL", "http://user:hunter2@host/db")
    assert "hunter2" not in refused("form postgresql")
    monkeypatch.setenv("MSGX_DATABASE_URL", "postgresql://user:hunter2@host/db?password=hunter3")
    monkeypatch.setenv("MSGX_MAILBOX_URL", "mysql://user:hunter4@host/db")
    monkeypatch.setenv("MSGX_HTTP__TOKEN", "hunter5hunter5hunter5")
    monkeypatch.setenv("MSGX_KAFKA__CLIENT", '{"sasl.password": "hunter6"}')
    settings = config.load()
    assert "hunter" not in repr(settings)
    assert config.without_password(settings.database.url) == "postgresql://user:***@host/db?password=***"


def test_nothing_can_be_changed_later() -> None:
    settings = config.load()
    with pytest.raises(Exception, match="frozen"):
        settings.kafka.partitions = 1  # type: ignore[misc]  # that is the point
