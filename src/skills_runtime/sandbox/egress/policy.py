"""Which hosts may be reached: rules as values, and one pure function that decides.

Deny wins, the first allow rule that covers the host holds, and an empty list allows nothing.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.sandbox.egress.addresses import Reach, embedded, reach_of
from skills_runtime.sandbox.egress.hosts import MAX_PORT, Address, Host, canonical_host, host_of, parse_port
from skills_runtime.sandbox.egress.values import Kind, Refused

Scope = Literal["exact", "below", "all"]
"""The host itself; every name below it (`*.`); both (`**.`)."""

Ports = tuple[int, ...] | Literal["every"]
Leave = Literal["refused", "allowed"]
DecidedBy = Literal["rule", "person", "default"]
"""What decided on a host: a rule about it, somebody who was asked, or that there is no such rule."""

WEB_PORTS: Ports = (80, 443)
_PREFIXES: tuple[tuple[str, Scope], ...] = (("**.", "all"), ("*.", "below"), ("", "exact"))
_HINT = "write a host such as `example.com`, `*.example.com`, `example.com:8443` or `[2001:db8::1]:443,8443`"


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts and ports; `private` lets a name lead into private networks, `raw` lets a tunnel carry anything."""

    host: str
    scope: Scope = "exact"
    ports: Ports = WEB_PORTS
    private: Leave = "refused"
    raw: Leave = "refused"

    def __post_init__(self) -> None:
        """Refuse a spelling that would never match: a deny rule that matches nothing is an open door."""
        host = canonical_host(self.host)
        if not isinstance(host, Host) or host.text != self.host:
            raise ValueError(f"`{self.host}` is not the canonical spelling of a host")
        if self.scope != "exact" and (host.kind != "name" or "." not in self.host):
            raise ValueError(f"`{self.host}` is too wide for a rule about the names below it")
        if self.ports != "every" and not (self.ports and all(0 < port <= MAX_PORT for port in self.ports)):
            raise ValueError("the ports of a rule are numbers from 1 to 65535")

    @property
    def text(self) -> str:
        """The rule as somebody would write it."""
        prefix = next(prefix for prefix, scope in _PREFIXES if scope == self.scope)
        ports = "*" if self.ports == "every" else ",".join(map(str, self.ports))
        return f"{prefix}{self.host}:{ports}"

    def covers(self, host: Host, port: int) -> bool:
        """Whether the rule is about this host and port."""
        if self.ports != "every" and port not in self.ports:
            return False
        if host.text == self.host:
            return self.scope != "below"
        return self.scope != "exact" and host.kind == "name" and host.text.endswith("." + self.host)


class EgressPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What a sandbox may reach; nothing by default."""

    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()


class Verdict(msgspec.Struct, frozen=True):
    """What the policy says of one host and port; of an unknown one somebody may be asked."""

    outcome: Literal["allow", "deny", "unknown"]
    reason: str
    kind: Kind | Literal[""] = ""
    rule: Rule | None = None
    by: DecidedBy = "default"


def egress_policy(*, allow: Iterable[str | Rule] = (), deny: Iterable[str | Rule] = ()) -> EgressPolicy:
    """A policy from rules as people write them."""
    return EgressPolicy(
        allow=tuple(rule if isinstance(rule, Rule) else allow_rule(rule) for rule in allow),
        deny=tuple(rule if isinstance(rule, Rule) else deny_rule(rule) for rule in deny),
    )


def allow_rule(text: str, *, private: Leave = "refused", raw: Leave = "refused") -> Rule:
    """The rule `host`, `*.host` or `**.host`, with `:port,port` or `:*`; ports 80 and 443 when none are given."""
    host, scope, ports = _parse(text)
    return _made(host, scope, ports or WEB_PORTS, private, raw)


def deny_rule(text: str) -> Rule:
    """The same for what must not be reached; every port when none are given."""
    host, scope, ports = _parse(text)
    return _made(host, scope, ports or "every", "refused", "refused")


def decide(policy: EgressPolicy, host: Host, port: int) -> Verdict:
    """What the policy says, before anything is looked up or connected to."""
    for rule in policy.deny:
        if rule.covers(host, port):
            return Verdict("deny", f"the rule `{rule.text}` denies it", "denied", rule, "rule")
    for rule in policy.allow:
        if rule.covers(host, port):
            return Verdict("allow", f"the rule `{rule.text}` allows it", rule=rule, by="rule")
    address = host.address
    if address is not None and (reach := reach_of(address)) != "public":
        return Verdict("deny", f"a {reach} address must be named by a rule", "address_blocked")
    return Verdict("unknown", "no rule allows it", "not_allowed")


def admit(policy: EgressPolicy, rule: Rule, port: int, address: Address, reach: Reach) -> Refused | None:
    """Why a name that the rule allows may still not lead to this address, or nothing when it may."""
    inner = embedded(address)
    for one in (address, *([inner] if inner else [])):
        denial = next((deny for deny in policy.deny if deny.covers(host_of(one), port)), None)
        if denial:
            return Refused("denied", f"it leads to {address}, and the rule `{denial.text}` denies that")
    if reach == "public" or rule.host == host_of(address).text:
        return None
    if reach == "private" and rule.private == "allowed":
        return None
    return Refused("address_blocked", f"it leads to {address}, which is a {reach} address")


def _parse(text: str) -> tuple[str, Scope, Ports | None]:
    found = next(one for one in _PREFIXES if text.startswith(one[0]))
    scope, rest = found[1], text[len(found[0]) :]
    host_text, colon, port_text = rest.rpartition(":") if not rest.endswith("]") else (rest, "", "")
    host = canonical_host(host_text if colon else rest)
    if isinstance(host, Refused):
        raise ValidationFailed(f"`{host.about or text}` is not a host for a rule: {host.reason}", hint=_HINT)
    if not colon:
        return host.text, scope, None
    if port_text == "*":
        return host.text, scope, "every"
    ports = [parse_port(one) for one in port_text.split(",")]
    if None in ports:
        raise ValidationFailed(f"the ports of the rule for `{host.text}` are not numbers from 1 to 65535", hint=_HINT)
    return host.text, scope, tuple(sorted({port for port in ports if port}))


def _made(host: str, scope: Scope, ports: Ports, private: Leave, raw: Leave) -> Rule:
    try:
        return Rule(host=host, scope=scope, ports=ports, private=private, raw=raw)
    except ValueError as error:
        raise ValidationFailed(f"the rule cannot be used: {error}", hint=_HINT) from error
