"""A policy and a grant become a new policy under a new digest; what no grant may open is refused."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from skills_runtime.errors import SandboxError
from skills_runtime.ports import Egress
from skills_runtime.sandbox.denials.bounds import MOST
from skills_runtime.sandbox.denials.forbidden import why_not_host, why_not_path
from skills_runtime.sandbox.denials.values import Grant, RaisedLimit
from skills_runtime.sandbox.egress import allow_rule
from skills_runtime.sandbox.policy import Network, ResourceLimits, SandboxPolicy

HIGHEST = 1 << 50
"""What no limit is raised beyond: more than any machine has, and less than any kernel refuses to take."""
SHOWN = 200
"""Characters of a path that are told."""

Resolve = Callable[[str], str]


def granted(
    policy: SandboxPolicy,
    grant: Grant,
    *,
    control: Iterable[Path] = (),
    programs: Iterable[Path] = (),
    resolve: Resolve = os.path.realpath,
) -> SandboxPolicy:
    """The policy with the grant in it; raises `SandboxError` for what cannot be granted.

    `control` are the runtime's own directories outside the workspace, `programs` those of programs that the user calls
    by name. Paths must be real: one that leads through a link could be turned elsewhere after somebody has said yes.
    """
    refuse_ungrantable(policy, grant, control=control, programs=programs, resolve=resolve)
    writable = [path for path in map(Path, grant.writable) if not _is_writable(path, policy)]
    readable = [path for path in map(Path, grant.readable) if not _is_readable(path, policy, writable)]
    network, egress = _reaching(policy, grant)
    return msgspec.structs.replace(
        policy,
        writable=_with(policy.writable, writable),
        readable=_with(policy.readable, readable),
        opened=_with(policy.opened, [*writable, *readable]),
        network=network,
        egress=egress,
        limits=_raised(policy.limits, grant.limits),
    )


def refuse_ungrantable(
    policy: SandboxPolicy,
    grant: Grant,
    *,
    control: Iterable[Path] = (),
    programs: Iterable[Path] = (),
    resolve: Resolve = os.path.realpath,
) -> None:
    """Raise for the first thing in a grant that nobody can allow."""
    closed = (*control, *policy.hidden)
    called = tuple(place for place in programs if not place.is_relative_to(policy.workspace))
    for path, writing in (*((path, True) for path in grant.writable), *((path, False) for path in grant.readable)):
        reason = why_not_path(path, writing=writing, control=closed, within=policy.workspace, programs=called)
        if reason is None and Path(path) in (policy.workspace, *policy.workspace.parents):
            reason = "the workspace lies in it"
        if reason is None and resolve(path) != path:
            reason = "a link is on the way to it"
        if reason is not None:
            raise _refusal(f"`{_short(path)}` cannot be opened to a command: {reason}", path)
    for host in grant.hosts:
        if (reason := why_not_host(host)) is not None:
            raise _refusal(f"`{host}` cannot be opened to a command: {reason}", host)
    for limit in grant.limits:
        if not 0 < limit.value <= MOST.get(limit.name, HIGHEST):
            raise _refusal(f"the limit `{limit.name}` cannot be {limit.value}", limit.name)


def _short(path: str) -> str:
    return path if len(path) <= SHOWN else f"{path[:SHOWN]}…"


def combined(grants: Iterable[Grant]) -> Grant:
    """One grant that opens what several open, each thing once and the highest of each limit."""
    every = tuple(grants)
    highest: dict[str, RaisedLimit] = {}
    for limit in (limit for grant in every for limit in grant.limits):
        known = highest.get(limit.name)
        highest[limit.name] = limit if known is None or limit.value > known.value else known
    return Grant(
        writable=tuple(dict.fromkeys(path for grant in every for path in grant.writable)),
        readable=tuple(dict.fromkeys(path for grant in every for path in grant.readable)),
        hosts=tuple(dict.fromkeys(host for grant in every for host in grant.hosts)),
        limits=tuple(highest.values()),
    )


def _refusal(message: str, target: str) -> SandboxError:
    return SandboxError(
        message, hint="no grant opens it; have the user do this part", details={"target": target, "grantable": False}
    )


def _with(paths: tuple[Path, ...], more: list[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys((*paths, *more)))


def _is_writable(path: Path, policy: SandboxPolicy) -> bool:
    places = (*policy.writable, *([policy.workspace] if policy.access == "write" else []))
    return any(path.is_relative_to(place) for place in places)


def _is_readable(path: Path, policy: SandboxPolicy, writable: list[Path]) -> bool:
    return any(
        path.is_relative_to(place) for place in (policy.workspace, *policy.readable, *policy.writable, *writable)
    )


def _reaching(policy: SandboxPolicy, grant: Grant) -> tuple[Network, Egress | None]:
    if not grant.hosts or policy.network == "host":
        return policy.network, policy.egress
    egress = policy.egress or Egress()
    rules = tuple(allow_rule(host).text for host in grant.hosts)
    return "allow-list", msgspec.structs.replace(egress, allow=tuple(dict.fromkeys((*egress.allow, *rules))))


def _raised(limits: ResourceLimits, raised: tuple[RaisedLimit, ...]) -> ResourceLimits:
    """Limits only go up: no limit at all stays none."""
    changes: dict[str, int] = {}
    for limit in raised:
        now: int | None = getattr(limits, limit.name)
        if now is not None and limit.value > now:
            changes[limit.name] = limit.value
    return msgspec.structs.replace(limits, **changes)
