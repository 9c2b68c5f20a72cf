"""The real clock and the real ids: the only module that reads time or randomness."""

import os
import time
from datetime import UTC, datetime


class SystemClock:
    """Wall clock and monotonic clock of this machine."""

    def __init__(self) -> None:
        self._formatted = (-1, "")

    def now(self) -> str:
        """Return the current time as RFC 3339 in UTC."""
        second, nanosecond = divmod(time.time_ns(), 1_000_000_000)
        formatted = self._formatted  # read once: logs of several threads share this clock
        if second != formatted[0]:  # formatting a date costs more than sealing a line: once a second is enough
            formatted = self._formatted = (second, datetime.fromtimestamp(second, UTC).isoformat()[:-6])
        return f"{formatted[1]}.{nanosecond // 1000:06d}Z"

    def monotonic(self) -> float:
        """Return monotonic seconds."""
        return time.monotonic()


class RandomIds:
    """Sortable ids: a UUIDv7 in hex after a prefix that names the kind."""

    def new(self, kind: str) -> str:
        """Return a new id such as `run_0199…`; later ids sort after earlier ones."""
        stamp = time.time_ns() // 1_000_000
        random = int.from_bytes(os.urandom(10), "big")
        high = (random >> 68) & 0xFFF
        value = (stamp << 80) | (7 << 76) | (high << 64) | (2 << 62) | (random & ((1 << 62) - 1))
        return f"{kind}_{value:032x}"
