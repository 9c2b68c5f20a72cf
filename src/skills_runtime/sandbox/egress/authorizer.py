"""Authorize every connection: apply the rules, resolve the name once, connect to the checked addresses."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Sequence
from types import TracebackType
from typing import Self

import msgspec

from skills_runtime.errors import SandboxError
from skills_runtime.ports import Undecided
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
    check_address,
    decide,
    find_reach,
    parse_address,
)
from skills_runtime.sandbox.egress.streams import Peer

MAX_ADDRESSES = 4
"""Addresses of one name that are tried."""
DISCARD_PORT = 9


class Flow:
    """One request or tunnel in progress: what was allowed, and its byte counts."""

    def __init__(
        self, authorizer: "EgressAuthorizer", allowed: EgressRecord, rule: Rule, addresses: Sequence[Address]
    ) -> None:
        self.rule = rule
        self._authorizer = authorizer
        self._record = allowed
        self._addresses = addresses
        self._bytes_up = 0
        self._bytes_down = 0

    def count_sent(self, count: int) -> None:
        """Count bytes sent; raise when the sandbox has used up its limit."""
        self._bytes_up += count
        self._authorizer.use_bytes(count)

    def count_received(self, count: int) -> None:
        """Count bytes received; raise when the sandbox has used up its limit."""
        self._bytes_down += count
        self._authorizer.use_bytes(count)

    async def connect(self) -> Peer:
        """Connect to the first checked address that answers."""
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
        """Record the end, and the error that caused it if any."""
        refused = _find_refusal(error)
        record = msgspec.structs.replace(
            self._record, stage="ended", bytes_up=self._bytes_up, bytes_down=self._bytes_down
        )
        if refused:
            verdict = "deny" if refused.kind in ("name_mismatch", "request_invalid", "limit") else "allow"
            record = msgspec.structs.replace(record, kind=refused.kind, reason=refused.reason, verdict=verdict)
        self._authorizer.record(record)


def _find_refusal(error: BaseException | None) -> Refused | None:
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
    """State of one proxy: request numbers, approval answers and used bytes."""

    def __init__(self, ports: EgressPorts) -> None:
        self.ports = ports
        self._last_number = 0
        self._used_bytes = 0
        self._questions: dict[tuple[str, int], asyncio.Task[Verdict]] = {}

    async def authorize(self, protocol: Protocol, authority: Authority) -> Flow:
        """Authorize one request; raise `Stopped` when it is denied."""
        host, port = authority.host, authority.port
        if self._last_number >= self.ports.limits.requests:
            raise self.refuse(protocol, Refused("limit", "the sandbox has used up its requests"), authority)
        if self._used_bytes >= self.ports.limits.total_bytes:
            raise self.refuse(protocol, self._bytes_exceeded(), authority)
        verdict = await self._decide(host, port)
        if verdict.outcome != "allow" or verdict.rule is None:
            refused = Refused(verdict.kind or "not_allowed", verdict.reason, host.text)
            raise self.refuse(protocol, refused, authority, verdict)
        addresses = await self._resolve(verdict.rule, host, port)
        if isinstance(addresses, Refused):
            raise self.refuse(protocol, addresses, authority, verdict)
        allowed = EgressRecord(
            number=self._next_number(),
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
        self.record(allowed)
        return Flow(self, allowed, verdict.rule, addresses)

    def refuse(
        self, protocol: Protocol, refused: Refused, authority: Authority | None = None, verdict: Verdict | None = None
    ) -> Stopped:
        """Record a refusal and return the exception to raise."""
        self.record(
            EgressRecord(
                number=self._next_number(),
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

    def record(self, record: EgressRecord) -> None:
        """Record a decision; an error here ends the proxy."""
        if record.stage == "decided" and record.number > self.ports.limits.requests + 1:
            return  # the previous record already reports the limit
        try:
            self.ports.record(record)
        except OSError as error:  # otherwise it would look like an error of the connection
            raise SandboxError(f"a decision about the network could not be recorded: {error}") from error

    def use_bytes(self, count: int) -> None:
        """Subtract bytes from the sandbox's limit."""
        self._used_bytes += count
        if self._used_bytes > self.ports.limits.total_bytes:
            raise Stopped(self._bytes_exceeded())

    async def close(self) -> None:
        """Cancel unanswered questions."""
        for task in self._questions.values():
            task.cancel()
        await asyncio.gather(*self._questions.values(), return_exceptions=True)

    async def _resolve(self, rule: Rule, host: Host, port: int) -> list[Address] | Refused:
        try:
            async with asyncio.timeout(self.ports.limits.connect_seconds):
                return await resolve_allowed(self.ports.policy, rule, host, port, self.ports.resolve or system_resolver)
        except TimeoutError:
            return Refused("unreachable", "the name could not be resolved in time")

    async def _decide(self, host: Host, port: int) -> Verdict:
        verdict = decide(self.ports.policy, host, port)
        if verdict.outcome != "unknown" or self.ports.ask is None:
            return verdict
        key = (host.text, port)
        if key not in self._questions:
            if len(self._questions) >= self.ports.limits.asks:
                return Verdict("deny", "no rule allows it, and too many questions have been asked", "not_allowed")
            # An answer holds for the lifetime of the proxy; otherwise every request of a download would ask again.
            rule = Rule(host=host.text, ports=(port,))
            self._questions[key] = asyncio.ensure_future(_wait_for_answer(self.ports.ask(*key), rule))
        question = self._questions[key]
        # Not awaited itself: one of several waiters may be cancelled.
        await asyncio.wait([question])
        if question.cancelled():
            return Verdict("deny", "the command ended before the user decided", "not_allowed")
        return question.result()

    def _next_number(self) -> int:
        self._last_number += 1
        return self._last_number

    def _bytes_exceeded(self) -> Refused:
        return Refused("limit", f"the sandbox has used up its {self.ports.limits.total_bytes} bytes")


async def _wait_for_answer(question: Awaitable[bool], rule: Rule) -> Verdict:
    """Return the decision on the host of `rule`; a missing answer denies."""
    try:
        allowed = await question
    except Undecided as undecided:
        return Verdict("deny", str(undecided), "not_allowed")
    except OSError as error:  # otherwise it would look like an error of the connection
        raise SandboxError(f"a question about the network could not be asked: {error}") from error
    if allowed is True:
        return Verdict("allow", "the user allowed it", "", rule, "person")
    return Verdict("deny", "the user denied it", "denied", by="person")


async def resolve_allowed(
    policy: EgressPolicy, rule: Rule, host: Host, port: int, resolve: Resolver
) -> list[Address] | Refused:
    """Return the resolved addresses that are allowed; refuse if there are none."""
    literal = host.address
    if literal is not None:
        candidates: list[Address | None] = [literal]
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
        reach = "private" if find_reach(address) == "public" and is_local_address(address) else find_reach(address)
        refused = check_address(policy, rule, port, address, reach)
        if refused is None:
            admitted.append(address)
        else:
            problem = refused
    return admitted[:MAX_ADDRESSES] or problem


async def system_resolver(name: str, port: int) -> Sequence[str]:
    """Resolve a name as this machine does."""
    results = await asyncio.get_running_loop().getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(result[4][0]) for result in results))


def is_local_address(address: Address) -> bool:
    """Return whether the address belongs to this machine, where services may trust local clients."""
    endpoint = (str(address), 0)
    try:
        with socket.socket(_family(address), socket.SOCK_DGRAM) as probe:
            probe.bind(endpoint)
        # Some machines allow binding to any address, but a socket connected to an own address also has it as its
        # source.
        with socket.socket(_family(address), socket.SOCK_DGRAM) as probe:
            probe.connect((endpoint[0], DISCARD_PORT))  # sends nothing
            return probe.getsockname()[0] == endpoint[0]
    except OSError:
        return False


async def connect(address: Address, port: int) -> socket.socket:
    """Connect to exactly this address."""
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
