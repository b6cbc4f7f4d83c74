"""``msgx``: one program for the supervisor and for those who live with it.

Every failure is one sentence that says what to do, on standard error, with a code of :class:`supervisor.exits.Exit`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: gives the exit code; ends the process itself only where a thread would keep it."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_DFL) if in_main_thread else None
    # Half a second of imports: a Ctrl-C in it must end us, and not with a traceback.
    from supervisor.cli import commands
    from supervisor.exits import Exit

    if in_main_thread:
        signal.signal(signal.SIGINT, before)
    code = commands.invoke(arguments)
    if code == Exit.FORCED:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
