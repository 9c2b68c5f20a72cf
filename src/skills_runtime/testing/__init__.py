"""Public fakes: what tests of this package, and of yours, put in place of the world."""

from skills_runtime.testing.clock import CountingIds, FrozenClock
from skills_runtime.testing.disk import FaultyDisk
from skills_runtime.testing.inbox import InMemoryInbox
from skills_runtime.testing.model import FakeModel, calls, says

__all__ = [
    "CountingIds",
    "FakeModel",
    "FaultyDisk",
    "FrozenClock",
    "InMemoryInbox",
    "calls",
    "says",
]
