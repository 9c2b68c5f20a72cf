"""What a log stands on, as one value."""

import msgspec

from skills_runtime.clock import SystemClock
from skills_runtime.ports import Clock, Disk, Secrets
from skills_runtime.runs.log.disk import SystemDisk
from skills_runtime.runs.log.keys import KeyRing


class LogPorts(msgspec.Struct, frozen=True):
    """What a log stands on: keys, clock and disk."""

    keys: KeyRing
    clock: Clock = msgspec.field(default_factory=SystemClock)
    disk: Disk = msgspec.field(default_factory=SystemDisk)
    secrets: Secrets | None = None
    """What is taken out of every event before anybody sees it."""
