"""Every connection passes here: the rules decide, a name is resolved once, and what was checked is connected to."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Sequence
from types import TracebackType
from typing import Self

import msgspec

from skills_runtime.errors import SandboxError
from skills_runtime.sandbox.egress.records import EgressPorts, EgressRecord, Protocol, Resolver
from skills_runtime.sandbox.egress.rules import (
    Address,
    Authority,
    EgressPolicy,
    Host,
    Refused,
    Rule,
    Stopped,
    Verdict,
    admit,
    decide,
    parse_address,
    reach_of,
)
from skills_runtime.sandbox.egress.streams import Peer

MAX_ADDRESSES = 4
"""How many addresses of one name are tried."""
DISCARD_PORT = 9


class Flow:
    """One request or tunnel under way: what was allowed, and how many bytes have passed."""

    def __init__(
        self, authorizer: "EgressAuthorizer", allowed: EgressRecord, rule: Rule, addresses: Sequence[Address]
    ) -> None:
        self.rule = rule
        self._authorizer = authorizer
        self._record = allowed
        self._addresses = addresses
        self._up = 0
        self._down = 0

    def sent(self, count: int) -> None:
        """Count bytes that go out; raises when the sandbox has used up its share."""
        self._up += count
        self._authorizer.spend(count)

    def received(self, count: int) -> None:
        """Count bytes that come in; raises when the sandbox has used up its share."""
        self._down += count
        self._authorizer.spend(count)

    async def connect(self) -> Peer:
        """A connection to the first of the checked addresses that answers."""
        reason = ""
        share = self._authorizer.ports.limits.connect_seconds / len(self._addresses)
        for address in self._addresses:
            try:
                async with asyncio.timeout(share):
                    connection = await connect(address, self._record.port)
            except OSError as error:
                reason = f"the connection failed: {os.strerror(error.errno) if error.errno else 'no answer in time'}"
            else:
                self._record = msgspec.structs.replace(self._record, address=str(address))
                return Peer(connection)
        raise Stopped(Refused("unreachable", reason))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Record the end, and what stopped it if something did."""
        refused = _what_stopped(error)
        record = msgspec.structs.replace(self._record, stage="ended", bytes_up=self._up, bytes_down=self._down)
        if refused:
            verdict = "deny" if refused.kind in ("name_mismatch", "request_invalid", "limit") else "allow"
            record = msgspec.structs.replace(record, kind=refused.kind, reason=refused.reason, verdict=verdict)
        self._authorizer.tell(record)


def _what_stopped(error: BaseException | None) -> Refused | None:
    match error:
        case None:
            return None
        case Stopped(refused=refused):
            return refused
        case TimeoutError():
            return Refused("limit", "nothing has moved for too long")
        case _:
            return Refused("closed", "the connection was cut")


class EgressAuthorizer:
    """The memory of one proxy: numbers, answers to questions, bytes used."""

    def __init__(self, ports: EgressPorts) -> None:
        self.ports = ports
        self._numbers = 0
        self._spent = 0
        self._asked: dict[tuple[str, int], asyncio.Task[bool]] = {}

    async def pass_through(self, protocol: Protocol, authority: Authority) -> Flow:
        """Let one request pass, as far as it is allowed to; raises `Stopped` when it is not."""
        host, port = authority.host, authority.port
        if self._numbers >= self.ports.limits.requests:
            raise self.refuse(protocol, Refused("limit", "the sandbox has used up its requests"), authority)
        if self._spent >= self.ports.limits.total_bytes:
            raise self.refuse(protocol, self._over(), authority)
        verdict = await self._verdict(host, port)
        if verdict.outcome != "allow" or verdict.rule is None:
            refused = Refused(verdict.kind or "not_allowed", verdict.reason, host.text)
            raise self.refuse(protocol, refused, authority, verdict)
        addresses = await self._pin(verdict.rule, host, port)
        if isinstance(addresses, Refused):
            raise self.refuse(protocol, addresses, authority, verdict)
        allowed = EgressRecord(
            number=self._next(),
            stage="decided",
            protocol=protocol,
            host=host.text,
            port=port,
            verdict="allow",
            reason=verdict.reason,
            by=verdict.by,
            rule=verdict.rule.text,
            address=str(addresses[0]),
        )
        self.tell(allowed)
        return Flow(self, allowed, verdict.rule, addresses)

    def refuse(
        self, protocol: Protocol, refused: Refused, authority: Authority | None = None, verdict: Verdict | None = None
    ) -> Stopped:
        """Record a refusal; returns what to raise."""
        self.tell(
            EgressRecord(
                number=self._next(),
                stage="decided",
                protocol=protocol,
                host=authority.host.text if authority else refused.about,
                port=authority.port if authority else 0,
                verdict="deny",
                reason=refused.reason,
                kind=refused.kind,
                by=verdict.by if verdict else "default",
                rule=verdict.rule.text if verdict and verdict.rule else "",
            )
        )
        return Stopped(refused)

    def tell(self, record: EgressRecord) -> None:
        """Record a decision; one that cannot be recorded ends the proxy."""
        if record.stage == "decided" and record.number > self.ports.limits.requests + 1:
            return  # refused like the one before, and whoever reads that knows it
        try:
            self.ports.record(record)
        except OSError as error:  # which would pass for one of the connection
            raise SandboxError(f"a decision about the network could not be recorded: {error}") from error

    def spend(self, count: int) -> None:
        """Take bytes off the share of the sandbox."""
        self._spent += count
        if self._spent > self.ports.limits.total_bytes:
            raise Stopped(self._over())

    async def close(self) -> None:
        """Withdraw the questions that nobody has answered."""
        for task in self._asked.values():
            task.cancel()
        await asyncio.gather(*self._asked.values(), return_exceptions=True)

    async def _pin(self, rule: Rule, host: Host, port: int) -> list[Address] | Refused:
        try:
            async with asyncio.timeout(self.ports.limits.connect_seconds):
                return await pin(self.ports.policy, rule, host, port, self.ports.resolve or system_resolver)
        except TimeoutError:
            return Refused("unreachable", "the name could not be resolved in time")

    async def _verdict(self, host: Host, port: int) -> Verdict:
        verdict = decide(self.ports.policy, host, port)
        if verdict.outcome != "unknown" or self.ports.ask is None:
            return verdict
        key = (host.text, port)
        if key not in self._asked:
            if len(self._asked) >= self.ports.limits.asks:
                return Verdict("deny", "no rule allows it, and too many questions have been asked", "not_allowed")
            # An answer holds as long as the proxy, or every request of a download would ask again.
            self._asked[key] = asyncio.ensure_future(_answer(self.ports.ask(*key)))
        question = self._asked[key]
        await asyncio.wait([question])  # not awaited itself: one of several who wait may be cancelled
        if not question.cancelled() and question.result() is True:
            return Verdict(
                "allow", "somebody who was asked allows it", "", Rule(host=host.text, ports=(port,)), "person"
            )
        return Verdict("deny", "somebody who was asked denies it", "denied", by="person")

    def _next(self) -> int:
        self._numbers += 1
        return self._numbers

    def _over(self) -> Refused:
        return Refused("limit", f"the sandbox has used up its {self.ports.limits.total_bytes} bytes")


async def _answer(question: Awaitable[bool]) -> bool:
    try:
        return await question
    except OSError as error:  # which would pass for one of the connection
        raise SandboxError(f"a question about the network could not be asked: {error}") from error


async def pin(policy: EgressPolicy, rule: Rule, host: Host, port: int, resolve: Resolver) -> list[Address] | Refused:
    """The addresses that may be connected to; those that may not are left out, and it takes one to be left."""
    own = host.address
    if own is not None:
        candidates: list[Address | None] = [own]
    else:
        try:
            candidates = [parse_address(text) for text in await resolve(host.text, port)]
        except (OSError, UnicodeError):
            return Refused("unreachable", "the name cannot be resolved")
    admitted: list[Address] = []
    problem = Refused("unreachable", "the name has no address")
    for address in candidates:
        if address is None:
            continue
        reach = "private" if reach_of(address) == "public" and is_own(address) else reach_of(address)
        refused = admit(policy, rule, port, address, reach)
        if refused is None:
            admitted.append(address)
        else:
            problem = refused
    return admitted[:MAX_ADDRESSES] or problem


async def system_resolver(name: str, port: int) -> Sequence[str]:
    """The addresses that this machine finds for a name."""
    found = await asyncio.get_running_loop().getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


def is_own(address: Address) -> bool:
    """Whether the address is one of this machine's, where services listen that trust their neighbours."""
    place = (str(address), 0)
    try:
        with socket.socket(_family(address), socket.SOCK_DGRAM) as probe:
            probe.bind(place)
        # Some machines may bind to any address; but only to one of its own a machine speaks from the same one.
        with socket.socket(_family(address), socket.SOCK_DGRAM) as probe:
            probe.connect((place[0], DISCARD_PORT))  # sends nothing
            return probe.getsockname()[0] == place[0]
    except OSError:
        return False


async def connect(address: Address, port: int) -> socket.socket:
    """A connection to exactly this address."""
    connection = socket.socket(_family(address), socket.SOCK_STREAM)
    try:
        connection.settimeout(0)
        await asyncio.get_running_loop().sock_connect(connection, (str(address), port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        connection.close()
        raise
    return connection


def _family(address: Address) -> socket.AddressFamily:
    return socket.AF_INET if address.version == 4 else socket.AF_INET6
