"""What a fence can be widened by, for one command, once somebody has said yes."""

from typing import Literal

import msgspec

LimitName = Literal[
    "memory_bytes", "processes", "cpu_seconds", "file_bytes", "open_files", "temporary_bytes", "shared_memory_bytes",
    "disk_bytes", "disk_files", "output_bytes",
]  # fmt: skip


class RaisedLimit(msgspec.Struct, frozen=True):
    """A limit of the policy, and the higher value it gets."""

    name: LimitName
    value: int


class Grant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a policy is widened by; equal grants are one, and each can be written as JSON."""

    writable: tuple[str, ...] = ()
    """Absolute paths of directories or files."""
    readable: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    """Each with its port, such as `example.com:443`."""
    limits: tuple[RaisedLimit, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.writable or self.readable or self.hosts or self.limits)

    def __str__(self) -> str:
        parts = [
            *(f"write to `{path}`" for path in self.writable),
            *(f"read `{path}`" for path in self.readable),
            *(f"reach `{host}`" for host in self.hosts),
            *(f"raise `{limit.name}` to {limit.value}" for limit in self.limits),
        ]
        return ", ".join(parts) or "nothing"
