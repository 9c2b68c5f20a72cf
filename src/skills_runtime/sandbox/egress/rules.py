"""Decide which hosts a command may reach: canonical hosts, address ranges, rules.

A host is normalized once, and refused where programs could read it differently. Pure.
"""

import re
import unicodedata
from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from string import ascii_lowercase, ascii_uppercase
from typing import Generic, Literal, TypeVar

import msgspec

from skills_runtime.errors import ValidationFailed

T = TypeVar("T")

Kind = Literal[
    "host_invalid", "request_invalid", "not_allowed", "denied", "address_blocked", "name_mismatch",
    "unreachable", "limit", "closed",
]  # fmt: skip
"""Reasons for a refusal; stable identifiers."""

MAX_ESCAPED_CHARS = 255


class Refused(msgspec.Struct, frozen=True):
    """A refusal with one sentence for the user; `about` is the host, as far as it could be parsed."""

    kind: Kind
    reason: str
    about: str = ""


class Parsed(msgspec.Struct, Generic[T], frozen=True):
    """A parsed value, and how many bytes it took."""

    value: T
    consumed: int


class Incomplete(msgspec.Struct, frozen=True):
    """The data is valid so far but incomplete."""


class Stopped(Exception):
    """A connection must end; carries the refusal, and the last bytes for a client in a tunnel."""

    def __init__(self, refused: Refused, final_bytes: bytes = b"") -> None:
        super().__init__(refused.reason)
        self.refused = refused
        self.final_bytes = final_bytes


def escape_text(text: str) -> str:
    """Escape untrusted text for records and answers."""
    escaped = ascii(text)[1:-1]
    return escaped if len(escaped) <= MAX_ESCAPED_CHARS else escaped[: MAX_ESCAPED_CHARS - 3] + "..."


MAX_NAME = 253
MAX_PORT = 65535

Address = IPv4Address | IPv6Address

_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_OCTET = re.compile(r"0|[1-9][0-9]{0,2}")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_PORT_PART = re.compile(r":[^\]]*\Z")
_FORBIDDEN_CHARACTERS = {
    "@": "holds a user name",
    "%": "holds a percent sign",
    "/": "holds a slash",
    "\\": "holds a backslash",
    "*": "holds an asterisk",
    ":": "holds a colon outside brackets",
    "_": "holds an underscore",
}


class Host(msgspec.Struct, frozen=True):
    """A normalized host; IPv6 addresses are in brackets."""

    text: str
    kind: Literal["name", "ipv4", "ipv6"] = "name"

    @property
    def address(self) -> Address | None:
        """Return the IP address; None for a name."""
        match self.kind:
            case "name":
                return None
            case "ipv4":
                return IPv4Address(self.text)
            case "ipv6":
                return IPv6Address(self.text[1:-1])


class Authority(msgspec.Struct, frozen=True):
    """A host and a port."""

    host: Host
    port: int

    @property
    def text(self) -> str:
        """Return `host:port`."""
        return f"{self.host.text}:{self.port}"


def host_from_address(address: Address) -> Host:
    """Return the host for an IP address."""
    return Host(str(address), "ipv4") if isinstance(address, IPv4Address) else Host(f"[{address}]", "ipv6")


def canonical_host(text: str) -> Host | Refused:
    """Return the normalized host, or why the text is not one."""
    if not text:
        return _invalid_host(text, "is empty")
    if len(text) > MAX_NAME + 1:
        return _invalid_host(text, f"is longer than {MAX_NAME} characters")
    if text.startswith("["):
        return _parse_ipv6(text)
    if odd := next(
        (
            _FORBIDDEN_CHARACTERS.get(character) or "holds a space or a control character"
            for character in text
            if (
                character in _FORBIDDEN_CHARACTERS
                or character <= " "
                or character == "\x7f"
                or (character > "\x7f" and not character.isprintable())
            )
        ),
        "",
    ):
        return _invalid_host(text, odd)
    # ASCII only: lower-casing the Kelvin sign would give the letter `k`, another name.
    lowered = text.translate(_LOWER)
    if _NUMBER.fullmatch(lowered.removesuffix(".").rpartition(".")[2]):
        # Four plain decimal numbers; programs disagree about octal, hexadecimal and short forms.
        parts = lowered.split(".")
        if len(parts) != 4 or not all(_OCTET.fullmatch(part) and int(part) <= 255 for part in parts):
            return _invalid_host(lowered, "is a number, but no plain IPv4 address such as 192.0.2.1")
        return Host(lowered, "ipv4")
    labels: list[str] = []
    for label in lowered.removesuffix(".").split("."):
        canonical = _canonical_label(label)
        if isinstance(canonical, Refused):
            return Refused(canonical.kind, canonical.reason, escape_text(lowered.removesuffix(".")))
        labels.append(canonical)
    name = ".".join(labels)
    too_long = f"is longer than {MAX_NAME} characters"
    return Host(name) if len(name) <= MAX_NAME else _invalid_host(lowered.removesuffix("."), too_long)


def split_authority(text: str, default_port: int | None = None) -> Authority | Refused:
    """Split `host:port`; without a default the port is required."""
    head, colon, port_text = text.rpartition(":") if _PORT_PART.search(text) else (text, "", "")
    host = canonical_host(head)
    if isinstance(host, Refused):
        return Refused(host.kind, host.reason, escape_text(text))
    if not colon and default_port is not None:
        return Authority(host, default_port)
    port = parse_port(port_text)
    return _invalid_host(text, "has no port from 1 to 65535") if port is None else Authority(host, port)


def parse_port(text: str) -> int | None:
    """Parse a port, a plain number from 1 to 65535."""
    return int(text) if _PORT.fullmatch(text) and int(text) <= MAX_PORT else None


def _parse_ipv6(text: str) -> Host | Refused:
    if not text.endswith("]") or not text.isascii():
        return _invalid_host(text, "is not an IPv6 address in brackets")
    if "%" in text:
        return _invalid_host(text, "holds a zone, which means something else on every machine")
    try:
        return Host(f"[{IPv6Address(text[1:-1])}]", "ipv6")
    except AddressValueError:
        return _invalid_host(text, "is not an IPv6 address in brackets")


def _canonical_label(label: str) -> str | Refused:
    if not label:
        return _invalid_host(label, "has an empty part between its dots")
    if not label.isascii() or label.startswith("xn--"):
        return _encode_international(label)
    return (
        label
        if _LABEL.fullmatch(label)
        else _invalid_host(label, "has a part that is not made of letters, digits and hyphens")
    )


def _encode_international(label: str) -> str | Refused:
    import idna

    try:
        plain = idna.ulabel(label) if label.isascii() else label
        encoded = idna.alabel(plain).decode("ascii")
    except UnicodeError:
        return _invalid_host(label, "has a part that is not a valid international name")
    if plain.isascii() or (label.isascii() and label != encoded) or not _LABEL.fullmatch(encoded):
        return _invalid_host(label, "has a part that is not a valid international name")
    if any(unicodedata.category(character).startswith("N") for character in plain if not character.isascii()):
        return _invalid_host(label, "has digits that are not ASCII")
    return encoded


def _invalid_host(text: str, problem: str) -> Refused:
    return Refused("host_invalid", f"the host {problem}", escape_text(text))


Reach = Literal["public", "private", "metadata", "special"]
"""Public; in a private network; a cloud metadata service; any other, such as multicast."""

# These services hand out credentials to any client; some of their addresses look public.
METADATA = frozenset(
    map(
        ip_address,
        (
            "169.254.169.254", "169.254.169.253", "169.254.169.123", "169.254.170.2", "169.254.170.23",
            "100.100.100.200", "168.63.129.16", "192.0.0.192",
            "fd00:ec2::254", "fd00:ec2::253", "fd00:ec2::23", "fd20:ce::254",
        ),
    )
)  # fmt: skip

_PRIVATE_4 = tuple(map(IPv4Network, ("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
_PRIVATE_6 = tuple(map(IPv6Network, ("::1/128", "fc00::/7")))
_SPECIAL_4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
            "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        ),
    )
)  # fmt: skip
# Outside this range no IPv6 address is public: mapped, NAT64, link-local, multicast and private addresses.
_UNICAST_6 = IPv6Network("2000::/3")

_SPECIAL_6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
_LAST_32_BITS = tuple(map(IPv6Network, ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48")))
_SIX_TO_FOUR = IPv6Network("2002::/16")
_TEREDO = IPv6Network("2001::/32")


def is_public(address: Address) -> bool:
    """Return whether the address is on the public internet."""
    return find_reach(address) == "public"


def find_reach(address: Address) -> Reach:
    """Classify an address."""
    if address in METADATA or find_embedded_ipv4(address) in METADATA:
        return "metadata"
    if isinstance(address, IPv4Address):
        if any(address in network for network in _PRIVATE_4):
            return "private"
        return "special" if any(address in network for network in _SPECIAL_4) else "public"
    if address.scope_id is not None:
        return "special"
    if any(address in network for network in _PRIVATE_6):
        return "private"
    if address not in _UNICAST_6 or any(address in network for network in _SPECIAL_6):
        return "special"
    return "public"


def find_embedded_ipv4(address: Address) -> IPv4Address | None:
    """Return the IPv4 address that a gateway would translate this IPv6 address to, if any."""
    if isinstance(address, IPv4Address):
        return None
    if any(address in network for network in _LAST_32_BITS):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _SIX_TO_FOUR:
        return IPv4Address(int(address) >> 80 & 0xFFFFFFFF)
    if address in _TEREDO:
        return IPv4Address(~int(address) & 0xFFFFFFFF)
    return None


def parse_address(text: str) -> Address | None:
    """Parse a resolved address; None for one with an interface scope."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return None if isinstance(address, IPv6Address) and address.scope_id is not None else address


Scope = Literal["exact", "below", "all"]
"""The host itself; every name below it (`*.`); both (`**.`)."""

Ports = tuple[int, ...] | Literal["every"]
Permission = Literal["refused", "allowed"]
DecidedBy = Literal["rule", "person", "default"]
"""What decided on a host: a rule, a user, or the default."""

WEB_PORTS: Ports = (80, 443)
_PREFIXES: tuple[tuple[str, Scope], ...] = (("**.", "all"), ("*.", "below"), ("", "exact"))
_HINT = "write a host such as `example.com`, `*.example.com`, `example.com:8443` or `[2001:db8::1]:443,8443`"


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts and ports; `private` lets a name resolve to private networks, `raw` allows any protocol in a tunnel."""

    host: str
    scope: Scope = "exact"
    ports: Ports = WEB_PORTS
    private: Permission = "refused"
    raw: Permission = "refused"

    def __post_init__(self) -> None:
        """Refuse a spelling that would never match: a deny rule that matches nothing protects nothing."""
        host = canonical_host(self.host)
        if not isinstance(host, Host) or host.text != self.host:
            raise ValueError(f"`{self.host}` is not the canonical spelling of a host")
        if self.scope != "exact" and (host.kind != "name" or "." not in self.host):
            raise ValueError(f"`{self.host}` is too wide for a rule about the names below it")
        if self.ports != "every" and not (self.ports and all(0 < port <= MAX_PORT for port in self.ports)):
            raise ValueError("the ports of a rule are numbers from 1 to 65535")

    @property
    def text(self) -> str:
        """Return the rule in its written form."""
        prefix = next(prefix for prefix, scope in _PREFIXES if scope == self.scope)
        ports = "*" if self.ports == "every" else ",".join(map(str, self.ports))
        return f"{prefix}{self.host}:{ports}"

    def covers(self, host: Host, port: int) -> bool:
        """Return whether the rule applies to this host and port."""
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
    """The decision of the policy on a host and port; `ask` means the user decides."""

    outcome: Literal["allow", "deny", "unknown"]
    reason: str
    kind: Kind | Literal[""] = ""
    rule: Rule | None = None
    by: DecidedBy = "default"


def egress_policy(*, allow: Iterable[str | Rule] = (), deny: Iterable[str | Rule] = ()) -> EgressPolicy:
    """Build a policy from rules in text form."""
    return EgressPolicy(
        allow=tuple(rule if isinstance(rule, Rule) else allow_rule(rule) for rule in allow),
        deny=tuple(rule if isinstance(rule, Rule) else deny_rule(rule) for rule in deny),
    )


def allow_rule(text: str, *, private: Permission = "refused", raw: Permission = "refused") -> Rule:
    """Parse `host`, `*.host` or `**.host`, with `:port,port` or `:*`; ports 80 and 443 when none are given."""
    host, scope, ports = _parse_rule(text)
    return _build_rule(host, scope, ports or WEB_PORTS, private, raw)


def deny_rule(text: str) -> Rule:
    """Parse a deny rule; it covers every port when none are given."""
    host, scope, ports = _parse_rule(text)
    return _build_rule(host, scope, ports or "every", "refused", "refused")


def decide(policy: EgressPolicy, host: Host, port: int) -> Verdict:
    """Decide by the policy alone, before any lookup or connection."""
    for rule in policy.deny:
        if rule.covers(host, port):
            return Verdict("deny", f"the rule `{rule.text}` denies it", "denied", rule, "rule")
    for rule in policy.allow:
        if rule.covers(host, port):
            return Verdict("allow", f"the rule `{rule.text}` allows it", rule=rule, by="rule")
    address = host.address
    if address is not None and (reach := find_reach(address)) != "public":
        return Verdict("deny", f"a {reach} address must be named by a rule", "address_blocked")
    return Verdict("unknown", "no rule allows it", "not_allowed")


def check_address(policy: EgressPolicy, rule: Rule, port: int, address: Address, reach: Reach) -> Refused | None:
    """Return why a name the rule allows must not resolve to this address; None when it may."""
    inner = find_embedded_ipv4(address)
    for candidate in (address, *([inner] if inner else [])):
        denial = next((deny for deny in policy.deny if deny.covers(host_from_address(candidate), port)), None)
        if denial:
            return Refused("denied", f"it leads to {address}, and the rule `{denial.text}` denies that")
    if reach == "public" or rule.host == host_from_address(address).text:
        return None
    if reach == "private" and rule.private == "allowed":
        return None
    return Refused("address_blocked", f"it leads to {address}, which is a {reach} address")


def _parse_rule(text: str) -> tuple[str, Scope, Ports | None]:
    prefix_scope = next(prefix for prefix in _PREFIXES if text.startswith(prefix[0]))
    scope, pattern = prefix_scope[1], text[len(prefix_scope[0]) :]
    host_text, colon, port_text = pattern.rpartition(":") if not pattern.endswith("]") else (pattern, "", "")
    host = canonical_host(host_text if colon else pattern)
    if isinstance(host, Refused):
        raise ValidationFailed(f"`{host.about or text}` is not a host for a rule: {host.reason}", hint=_HINT)
    if not colon:
        return host.text, scope, None
    if port_text == "*":
        return host.text, scope, "every"
    ports = [parse_port(port) for port in port_text.split(",")]
    if None in ports:
        raise ValidationFailed(f"the ports of the rule for `{host.text}` are not numbers from 1 to 65535", hint=_HINT)
    return host.text, scope, tuple(sorted({port for port in ports if port}))


def _build_rule(host: str, scope: Scope, ports: Ports, private: Permission, raw: Permission) -> Rule:
    try:
        return Rule(host=host, scope=scope, ports=ports, private=private, raw=raw)
    except ValueError as error:
        raise ValidationFailed(f"the rule cannot be used: {error}", hint=_HINT) from error
