"""Time and ids that a test can predict."""

from collections import Counter
from datetime import UTC, datetime, timedelta

TICK = timedelta(microseconds=1)
START = "2026-01-01T00:00:00Z"


class FrozenClock:
    """Stands still but for one microsecond at each reading, so that every timestamp is known and none repeats."""

    def __init__(self, at: str = START) -> None:
        self._started = self._at = _parsed(at)

    def now(self) -> str:
        """Return the current time as RFC 3339 in UTC."""
        at, self._at = self._at, self._at + TICK
        return f"{at:%Y-%m-%dT%H:%M:%S.%f}Z"

    def monotonic(self) -> float:
        """Seconds since the clock was made; they never go back."""
        return (self._at - self._started).total_seconds()

    def set(self, at: str) -> None:
        """Move to this time, given as RFC 3339."""
        before, self._at = self._at, _parsed(at)
        self._started -= max(before - self._at, timedelta())

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._at += timedelta(seconds=seconds)


class CountingIds:
    """Ids of the right shape that count from 1, for each kind on its own."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def new(self, kind: str) -> str:
        """Return the next id of this kind, such as `run_00…01`."""
        self._counts[kind] += 1
        return f"{kind}_{self._counts[kind]:032x}"


def _parsed(at: str) -> datetime:
    return datetime.fromisoformat(at).astimezone(UTC)
