"""The mailbox as this installation has it: address from msgx.toml, zone and largest body from ``core.setting``."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from loader.mailbox import Mailbox
from supervisor import database

if TYPE_CHECKING:
    from supervisor.config import Mailbox as MailboxSettings
    from supervisor.database import Connection


def open_mailbox(settings: MailboxSettings, connection: Connection) -> Mailbox:
    """A mailbox for one thread; it connects when it is first used.

    Args:
        settings: Address, names, time-outs.
        connection: Where ``core.setting`` is read: naive times of the mailbox are the airport's.
    """
    zone = ZoneInfo(database.setting(connection, "airport_timezone"))
    return Mailbox(settings.for_loader(database.setting(connection, "pipeline_max_body_bytes")), zone)
