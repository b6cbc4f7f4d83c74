"""Writes the processed marker into the mailbox for every finished message (implementation.md 6).

What is owed, with which marker, and when to give up is decided in SQL. Here: claim (committed before the mailbox is
touched), mark, settle. If we are lost in between, the claim is repeated and finds the marker there: that is success
too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader.mailbox import MarkOutcome
from supervisor import database
from supervisor.duties import MailboxDuty, Outcome, Trouble, Work

if TYPE_CHECKING:
    from supervisor.config import Settings


class Backfill(MailboxDuty):
    """Its own thread and connections, so that a slow mailbox never delays the pump."""

    def __init__(self, settings: Settings) -> None:
        super().__init__("backfill", settings)

    def run(self, work: Work) -> Outcome:
        """Round after round until nothing is due; a round in which the mailbox failed is the last one."""
        connection = self.session.connection
        limit = int(database.setting(connection, "pipeline_backfill_batch"))
        done = 0
        while work.has_time:
            owed = database.backfill_claim(connection, work.epoch, limit)
            if not owed:
                return Outcome(done)
            results = self.mailbox.mark([(one.msg_id, one.marker) for one in owed])
            database.backfill_settle(
                connection, work.epoch, [(one.id, one.outcome.value, one.error) for one in results]
            )
            failed = [one for one in results if one.outcome is MarkOutcome.TRANSIENT]
            done += len(results) - len(failed)
            missing = [one.id for one in results if one.outcome is MarkOutcome.MISSING_ROW]
            if missing:
                self.log.warning(
                    f"{len(missing)} rows are gone from the mailbox before they were marked", message_ids=missing[:20]
                )
            if len(failed) == len(results):
                raise Trouble(f"{len(failed)} marks were not written: {failed[0].error}")
            if failed:
                self.log.warning(
                    f"{len(failed)} of {len(results)} marks were not written and are tried again: {failed[0].error}",
                    message_ids=[one.id for one in failed[:20]],
                )
        return Outcome(done, again=work.goes_on)
