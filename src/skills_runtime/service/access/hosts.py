"""Which names a service answers to, and whether a request comes from a page of its own."""

import re
from collections.abc import Iterable

import msgspec

from skills_runtime.service.settings import is_loopback

_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+)(?::(?P<port>[0-9]{1,5}))?")
DEFAULT_PORT = 80


class Host(msgspec.Struct, frozen=True):
    """The `Host` of a request."""

    name: str
    port: int = DEFAULT_PORT

    @property
    def is_loopback(self) -> bool:
        """Whether it is a name of this machine itself."""
        return is_loopback(self.name)


def parse_host(text: str) -> Host | None:
    """A host with its port, or nothing where it is none."""
    matched = _HOST.fullmatch(text)
    if matched is None:
        return None
    return Host(matched["name"].strip("[]").lower(), int(matched["port"] or DEFAULT_PORT))


def is_answered(host: Host, port: int, allowed: Iterable[str]) -> bool:
    """Whether a service that listens on `port` answers to this name: its own names with its port, or an allowed one."""
    if host.is_loopback and host.port == port:
        return True
    return any(_matches(rule, host) for rule in allowed)


def _matches(rule: str, host: Host) -> bool:
    if rule == "*":
        return True
    if rule.startswith("."):
        return host.name == rule[1:] or host.name.endswith(rule)
    named = parse_host(rule)
    if named is None or named.name != host.name:
        return False
    return named.port == host.port or not re.search(r":[0-9]+\Z", rule) or rule.endswith("]")


def is_own_origin(origin: str, host_text: str) -> bool:
    """Whether a page of this very service made the request."""
    scheme, separator, rest = origin.partition("://")
    return bool(separator) and scheme in ("http", "https") and rest.lower() == host_text.lower()
