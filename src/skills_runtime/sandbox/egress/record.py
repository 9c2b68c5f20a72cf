"""What is told of every decision, and how much a sandbox may use up."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec

from skills_runtime.sandbox.egress.policy import DecidedBy, EgressPolicy
from skills_runtime.sandbox.egress.values import Kind

Protocol = Literal["http", "connect", "socks5", "unknown"]
Stage = Literal["decided", "ended"]
"""Every request is told of once when it is decided, and again at its end if it was allowed."""


class EgressRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One decision, or the end of what it allowed; when that was is for the receiver to know."""

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
    """How much all connections of one proxy may use; connections beyond the limit wait for a place."""

    connections: int = 64
    idle_seconds: float = 300.0
    connect_seconds: float = 10.0
    head_bytes: int = 32768
    total_bytes: int = 4 << 30
    asks: int = 32
    requests: int = 10_000
    """Every request is recorded, and records are kept for ever: beyond so many, nothing passes any more."""


Recorder = Callable[[EgressRecord], None]
Asker = Callable[[str, int], Awaitable[bool]]
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a name; raises `OSError` when there are none."""


class EgressPorts(msgspec.Struct, frozen=True, kw_only=True):
    """What a proxy works with; without `ask` unknown hosts are refused, without `resolve` the system looks names up."""

    policy: EgressPolicy
    record: Recorder
    ask: Asker | None = None
    resolve: Resolver | None = None
    limits: EgressLimits = EgressLimits()
