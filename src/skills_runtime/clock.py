"""The real clock and the real ids: the only place that reads time or randomness."""

import os
import time
from datetime import UTC, datetime


def rfc3339(moment: datetime) -> str:
    """UTC with microseconds and a `Z`, as every timestamp here is written."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


class SystemClock:
    """Wall clock and monotonic clock of this machine."""

    def now(self) -> str:
        """The current time as RFC 3339 in UTC."""
        return datetime.now(UTC).isoformat(timespec="microseconds")[:-6] + "Z"

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()


class RandomIds:
    """Sortable ids: a UUIDv7 in hex behind a prefix that names the kind."""

    def new(self, kind: str) -> str:
        """A fresh id such as `run_0199…`; later ids sort after earlier ones."""
        stamp = time.time_ns() // 1_000_000
        random = int.from_bytes(os.urandom(10), "big")
        high = (random >> 68) & 0xFFF
        value = (stamp << 80) | (7 << 76) | (high << 64) | (2 << 62) | (random & ((1 << 62) - 1))
        return f"{kind}_{value:032x}"
