"""Records of egress decisions, and limits on what a sandbox may use."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

import msgspec

from skills_runtime.sandbox.egress.rules import DecidedBy, EgressPolicy, Kind

Protocol = Literal["http", "connect", "socks5", "unknown"]
Stage = Literal["decided", "ended"]
"""A request is recorded when it is decided, and at its end if it was allowed."""


class EgressRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One decision, or the end of an allowed request; the receiver adds the time."""

    number: int
    stage: Stage
    protocol: Protocol
    host: str
    port: int
    verdict: Literal["allow", "deny"]
    reason: str
    kind: Kind | Literal[""] = ""
    by: DecidedBy = "default"
    rule: str = ""
    address: str = ""
    bytes_up: int = 0
    bytes_down: int = 0


class EgressLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits for all connections of one proxy; connections beyond the limit wait."""

    connections: int = 64
    idle_seconds: float = 300.0
    connect_seconds: float = 10.0
    head_bytes: int = 32768
    total_bytes: int = 4 << 30
    asks: int = 32
    # Every request is recorded permanently, so their number is bounded.
    requests: int = 10_000


Recorder = Callable[[EgressRecord], None]
Asker = Callable[[str, int], Awaitable[bool]]
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a name; raises `OSError` when there are none."""


class EgressPorts(msgspec.Struct, frozen=True, kw_only=True):
    """Callbacks of a proxy; without `ask` unknown hosts are refused."""

    policy: EgressPolicy
    record: Recorder
    ask: Asker | None = None
    resolve: Resolver | None = None
    limits: EgressLimits = EgressLimits()


MAX_HOSTS = 50


class HostUsage(msgspec.Struct):
    """Usage of one host and port."""

    verdict: str
    by: str
    reason: str
    requests: int = 0
    bytes_up: int = 0
    bytes_down: int = 0


class EgressUsage:
    """Counts decisions in bounded memory."""

    def __init__(self) -> None:
        self._verdicts = {"allow": 0, "deny": 0}
        self._asked_count = 0
        self._bytes = [0, 0]
        self._hosts: dict[tuple[str, int], HostUsage] = {}
        self._left_out = 0

    def add(self, record: EgressRecord) -> None:
        """Count one decision, or the end of an allowed request."""
        self._bytes[0] += record.bytes_up
        self._bytes[1] += record.bytes_down
        if record.stage == "decided":
            self._verdicts[record.verdict] += 1
            self._asked_count += record.by == "person"
        usage = self._find_host(record)
        if usage is not None:
            usage.requests += record.stage == "decided"
            usage.verdict, usage.by = record.verdict, record.by
            usage.reason = record.reason
            usage.bytes_up += record.bytes_up
            usage.bytes_down += record.bytes_down

    def summary(self) -> dict[str, Any]:
        """Return the usage as plain data; hosts beyond the first ones are only counted."""
        hosts = [
            {"host": host, "port": port, **msgspec.to_builtins(usage)} for (host, port), usage in self._hosts.items()
        ]
        return {
            "mode": "allow-list",
            "allowed": self._verdicts["allow"],
            "denied": self._verdicts["deny"],
            "asked": self._asked_count,
            "bytes_up": self._bytes[0],
            "bytes_down": self._bytes[1],
            "hosts": hosts,
            **({"requests_left_out": self._left_out} if self._left_out else {}),
        }

    def _find_host(self, record: EgressRecord) -> HostUsage | None:
        key = (record.host, record.port)
        if key not in self._hosts and len(self._hosts) >= MAX_HOSTS:
            self._left_out += record.stage == "decided"
            return None
        return self._hosts.setdefault(key, HostUsage(record.verdict, record.by, record.reason))
