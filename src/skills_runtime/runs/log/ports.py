"""What a log stands on, as one value."""

from collections.abc import Callable
from dataclasses import dataclass, field

from skills_runtime.clock import SystemClock
from skills_runtime.ports import Clock, Disk
from skills_runtime.runs.log.disk import SystemDisk
from skills_runtime.runs.log.keys import KeyRing


def _as_it_is(data: bytes) -> bytes:
    return data


@dataclass(frozen=True, slots=True)
class LogPorts:
    """What a log stands on: keys, clock and disk."""

    keys: KeyRing
    clock: Clock = field(default_factory=SystemClock)
    disk: Disk = field(default_factory=SystemDisk)
    redact: Callable[[bytes], bytes] = _as_it_is
    """Takes secrets out of a payload before anybody sees it; gives back the same object where there are none."""
