"""Makes a command less urgent than whoever has it run: as `nice` counts, and where the system weighs whole sessions.

A fence begins a session of its own when it is nearly up, which nobody tells of: so the session is lowered again then.
"""

import os

PAUSES = (0.005, 0.02, 0.1, 0.1, 0.1, 0.5, 0.5, 0.5)
"""Seconds before each further try: the system may want to be asked again, and a fence may take its time."""


class Urgency:
    """How urgent one command is, as far as that is not settled yet."""

    def __init__(self, lower: int) -> None:
        self._lower = lower
        self._first = 0
        self._session = -1
        self._tries = 0

    @property
    def pause(self) -> "float | None":
        """After how many seconds to settle it again; nothing when it is."""
        return PAUSES[self._tries] if self._session >= 0 else None

    def begin(self, process: int) -> None:
        """Lower a process that has begun nothing yet, and everything in its group."""
        if self._lower <= 0:
            return
        self._first = process
        lowest = os.getpriority(os.PRIO_PROCESS, 0) + self._lower
        for kind, who in ((os.PRIO_PGRP, process), (os.PRIO_PROCESS, process)):
            try:
                os.setpriority(kind, who, lowest)
            except OSError:  # it leads no group, or has ended
                continue
        self.close()
        try:
            # Opened now: later the process may have hidden itself behind its fence.
            self._session = os.open(f"/proc/{process}/autogroup", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:  # this system does not group by session
            self._session = -1

    def settle(self) -> None:
        """Lower the session, if the process has one of its own; otherwise, or if the system refuses, later again."""
        if self._session < 0:
            return
        try:
            own = os.getsid(self._first) == self._first
            os.write(self._session, b"%d" % self._lower)
        except BlockingIOError:
            own = False
        except OSError:  # it has ended, or nobody may do this here
            own = True
        self._tries += 1
        if own or self._tries >= len(PAUSES):
            self.close()

    def close(self) -> None:
        """Leave it as it is."""
        if self._session >= 0:
            os.close(self._session)
            self._session = -1
