"""What only the process needs: addresses, intervals, topics, time-outs (design section 3).

``msgx.toml`` (or the file that ``MSGX_CONFIG`` names) is read first; the environment overrides it. The key
``topic_msg`` of section ``[kafka]`` is ``MSGX_KAFKA__TOPIC_MSG``; three addresses have a short name as well:
``MSGX_DATABASE_URL``, ``MSGX_MAILBOX_URL``, ``MSGX_KAFKA_BOOTSTRAP``. What decides a result is not here, but in
``core.setting`` (``msgx setting``).

All durations are seconds. Every wrong key or value is a :class:`ConfigError`, a sentence that names it and where it
stands.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from loader.mailbox import MailboxConfig
from supervisor.errors import ConfigError

SHORTCUTS = {
    "MSGX_DATABASE_URL": ("database", "url"),
    "MSGX_MAILBOX_URL": ("mailbox", "url"),
    "MSGX_KAFKA_BOOTSTRAP": ("kafka", "bootstrap"),
}
DEFAULT_FILE = "msgx.toml"

DUTIES = ("lease", "intake", "restage", "pump", "relay-msg", "relay-schd", "backfill", "housekeeping")

Seconds = Annotated[float, Field(gt=0, le=86400)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=False)


class Database(_Section):
    """Our PostgreSQL."""

    url: str = Field(default="postgresql:///msgx", repr=False)
    connect_timeout: int = Field(default=5, ge=2, le=60)  # libpq takes whole seconds, and 1 as 2
    statement_timeout: Seconds = 60.0  # a plan of thousands of flights takes one or two
    lock_timeout: Seconds = 10.0  # longer than the pause between two batches of the pump
    idle_in_transaction_timeout: Seconds = 5.0  # a frozen supervisor holds no lock for longer
    tcp_user_timeout: Seconds = 15.0  # a silent network path is given up after this
    application_name: str = "msgx"

    @field_validator("url")
    @classmethod
    def _is_postgresql(cls, value: str) -> str:
        if urlsplit(value).scheme not in {"postgresql", "postgres"}:
            raise ValueError("is no address of the form postgresql://user@host:5432/database")
        return value


class Mailbox(_Section):
    """The shared MySQL or MariaDB mailbox; names are checked since they become part of statements."""

    url: str = Field(default="mysql://msgx@127.0.0.1:3306/mailbox", repr=False)
    connect_timeout: Seconds = 5.0
    read_timeout: Seconds = 15.0
    write_timeout: Seconds = 15.0
    lock_wait: int = Field(default=2, ge=1, le=60)  # seconds a marker waits for a row that somebody has locked
    table: str = "CMINMSGS"
    id_column: str = "CMINMSGS_ID"
    body_column: str = "MSG_XML"
    received_column: str = "RECEIVED_AT"
    flag_column: str = "PROC_FLAG"
    flag_at_column: str = "PROC_AT"

    @model_validator(mode="after")
    def _is_usable(self) -> Mailbox:
        self.for_loader()
        return self

    def for_loader(self, max_body_bytes: int | None = None) -> MailboxConfig:
        """The same for :mod:`loader.mailbox`, which checks address and names."""
        config = MailboxConfig(**self.model_dump())
        return config if max_body_bytes is None else replace(config, max_body_bytes=max_body_bytes)


class Kafka(_Section):
    """The broker and our two topics."""

    bootstrap: str = "127.0.0.1:9092"
    topic_msg: str = "msgx.flight.msg"
    topic_schd: str = "msgx.flight.schd"
    ce_source: str = Field(default="/msgexchange", min_length=1)
    # Then the broker counts as lost and events are given back; never more than half of lease_ttl, see RelayDuty.
    delivery_timeout: float = Field(default=20.0, ge=1, le=900)
    request_timeout: float = Field(default=10.0, ge=1, le=300)
    queue_messages: int = Field(default=20_000, ge=10, le=10_000_000)
    queue_kbytes: int = Field(default=65_536, ge=1_024, le=2_097_151)
    create_topics: bool = True
    partitions: int = Field(default=6, ge=1, le=10_000)
    replication_factor: int = Field(default=-1, ge=-1, le=32_767)  # -1 = the broker's default
    client: dict[str, str | int | float | bool] = Field(default_factory=dict, repr=False)

    @field_validator("topic_msg", "topic_schd")
    @classmethod
    def _is_topic(cls, value: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", value) or value in {".", ".."}:
            raise ValueError("is no topic name: letters, digits, '.', '_', '-', at most 249 of them")
        return value

    @field_validator("client")
    @classmethod
    def _keeps_the_promises(cls, value: dict[str, Any]) -> dict[str, Any]:
        ours = {
            "enable.idempotence",
            "acks",
            "request.required.acks",
            "partitioner",
            "bootstrap.servers",
        } & value.keys()
        if ours:
            raise ValueError(f"may not set {', '.join(sorted(ours))}: order and safety of the topics rest on them")
        return value


class Intervals(_Section):
    """How often each duty runs when nothing wakes it: the safety net, not the pace."""

    intake: Seconds = 0.5
    restage: Seconds = 5.0
    pump: Seconds = 1.0
    relay_msg: Seconds = 1.0
    relay_schd: Seconds = 1.0
    backfill: Seconds = 2.0
    housekeeping: Seconds = 60.0


class Limits(_Section):
    """How long one run of a duty may last before /readyz and status call it hung; above every time-out inside it."""

    lease: Seconds = 30.0
    intake: Seconds = 120.0
    restage: Seconds = 120.0
    pump: Seconds = 90.0
    relay_msg: Seconds = 90.0
    relay_schd: Seconds = 90.0
    backfill: Seconds = 120.0
    housekeeping: Seconds = 300.0


class Supervisor(_Section):
    """The process."""

    lease_ttl: float = Field(default=10.0, ge=1, le=600)  # a dead leader is replaced after this
    standby_interval: float = Field(default=1.0, gt=0, le=60)
    run_budget: float = Field(default=5.0, ge=0.1, le=60)  # a duty yields after this, so that a stop is never far
    pump_messages: int = Field(default=2_000, ge=1, le=1_000_000)
    pump_ms: int = Field(default=250, ge=10, le=10_000)
    stop_timeout: float = Field(default=20.0, ge=1, le=600)
    retry_delay: float = Field(default=1.0, ge=0.05, le=60)  # first wait after a lost service; doubles up to 10 s
    interval: Intervals = Intervals()
    limit: Limits = Limits()


class Http(_Section):
    """POST /cminmsgs/send, /healthz, /readyz, /metrics."""

    enabled: bool = False
    bind: str = "127.0.0.1"
    port: int = Field(default=8380, ge=0, le=65_535)  # 0 = any free port, named in the log
    token: SecretStr | None = None
    max_body_bytes: int = Field(default=16_777_216, ge=1_024, le=268_435_456)

    @model_validator(mode="after")
    def _is_guarded(self) -> Http:
        if self.token is not None and len(self.token.get_secret_value()) < 16:
            raise ValueError("token has fewer than 16 characters")
        return self


class Log(_Section):
    """Where there is no terminal, logs are JSON lines."""

    format: Literal["auto", "json", "text"] = "auto"
    level: Literal["debug", "info", "warning", "error"] = "info"


class Settings(BaseSettings):
    """All of msgx.toml, overridden by the environment; frozen."""

    model_config = SettingsConfigDict(
        env_prefix="MSGX_", env_nested_delimiter="__", env_ignore_empty=True, extra="forbid", frozen=True
    )

    database: Database = Database()
    mailbox: Mailbox = Mailbox()
    kafka: Kafka = Kafka()
    supervisor: Supervisor = Supervisor()
    http: Http = Http()
    log: Log = Log()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003  the signature is pydantic's
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003  the signature is pydantic's
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003  the signature is pydantic's
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment before what :func:`load` read from the file."""
        return env_settings, init_settings


def load(file: Path | None = None) -> Settings:
    """Read the file and the environment.

    Args:
        file: Another file than ``MSGX_CONFIG`` or ``./msgx.toml``; it must exist, as one named by ``MSGX_CONFIG`` must.

    Raises:
        ConfigError: a wrong key or value, or a file that cannot be read.
    """
    named = file or (Path(os.environ["MSGX_CONFIG"]) if os.environ.get("MSGX_CONFIG") else None)
    path = named or Path(DEFAULT_FILE)
    content: dict[str, Any] = {}
    if named is not None or path.exists():
        content = _read(path)
    _check_names()
    for name, (section, key) in SHORTCUTS.items():
        if os.environ.get(name):
            content.setdefault(section, {})[key] = os.environ[name]
    try:
        return Settings(**content)
    except ValidationError as error:
        raise ConfigError(_sentence(error, path)) from None
    except ValueError as error:  # pydantic-settings: a value of the environment that should be JSON
        raise ConfigError(
            f"The environment: {' '.join(str(error).split())}.",
            "A section or MSGX_KAFKA__CLIENT must be given as a JSON object.",
        ) from None


def _read(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist.", "Copy msgx.toml.example to it, or unset MSGX_CONFIG.") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text.") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is no valid TOML: {error}.") from None
    for name, section in content.items():
        if name in Settings.model_fields and not isinstance(section, dict):
            raise ConfigError(f"{path}: {name} must be a section, [{name}].")
    return content


def _check_names() -> None:
    """Refuse a misspelt ``MSGX_…`` name, which pydantic-settings would pass over in silence."""
    for name in os.environ:
        upper = name.upper()
        if not upper.startswith("MSGX_") or upper in SHORTCUTS:
            continue
        if "__" not in upper:
            section = next((one for one in Settings.model_fields if upper.startswith(f"MSGX_{one.upper()}_")), None)
            if section is not None:
                key = upper.removeprefix(f"MSGX_{section.upper()}_")
                raise ConfigError(
                    f"The environment names {name}, but there is no such key.",
                    f"Between section and key stand two underscores: MSGX_{section.upper()}__{key}.",
                )
            continue
        section, *keys = upper.removeprefix("MSGX_").lower().split("__")
        model: Any = Settings
        for part in (section, *keys):
            fields = getattr(model, "model_fields", None)
            if fields is None:
                break  # below a free dictionary such as [kafka.client]
            if part not in fields:
                raise ConfigError(
                    f"The environment names {name}, but there is no such key.",
                    f"Known here: {', '.join(sorted(fields))}.",
                )
            model = fields[part].annotation


def _sentence(error: ValidationError, path: Path) -> str:
    """All findings as sentences, each with its place."""
    sentences = []
    for finding in error.errors(include_url=False):
        where = [str(part) for part in finding["loc"] if part not in {"str", "int", "float", "bool"}]
        name = "MSGX_" + "__".join(part.upper() for part in where)
        short = next((s for s, keys in SHORTCUTS.items() if list(keys) == where and os.environ.get(s)), None)
        from_environment = short or next((given for given in os.environ if given.upper() == name), None)
        place = from_environment or f"{path}: {'[' + '.'.join(where[:-1]) + '] ' if where[:-1] else ''}{where[-1]}"
        secret = where[-1:] in (["url"], ["token"]) or where[:2] == ["kafka", "client"]
        value = finding.get("input")
        shown = "" if secret or isinstance(value, dict | BaseModel) else f" ({value!r})"
        if finding["type"] == "extra_forbidden":
            sentences.append(f"{place} is no key we know; {_known(where)}.")
        else:
            says = finding["msg"].removeprefix("Value error, ").removeprefix("Input ")
            sentences.append(f"{place}{shown} {says}.")
    return " ".join(dict.fromkeys(sentences))


def _known(where: list[str]) -> str:
    model: Any = Settings
    for part in where[:-1]:
        fields = getattr(model, "model_fields", {})
        if part not in fields:
            break
        model = fields[part].annotation
        model = next(iter(get_args(model)), model) if not hasattr(model, "model_fields") else model
    return f"known here: {', '.join(sorted(getattr(model, 'model_fields', {})))}"


def without_password(url: str) -> str:
    """An address that may be shown: a password in it, also one in its query, becomes ``***``."""
    parts = urlsplit(url)
    if parts.password is not None:
        user, at, host = parts.netloc.rpartition("@")
        url = parts._replace(netloc=f"{user.partition(':')[0]}:***{at}{host}").geturl()
    return re.sub(r"(?i)([?&]password=)[^&]*", r"\1***", url)
