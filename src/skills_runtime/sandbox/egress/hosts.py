"""One spelling for every host: whatever could be read in two ways is refused, never repaired.

Pure. Rules and requests go through the same function, so what is compared is always the canonical spelling.
"""

import re
import unicodedata
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from string import ascii_lowercase, ascii_uppercase
from typing import Literal

import msgspec

from skills_runtime.sandbox.egress.values import Refused, shown

MAX_NAME = 253
MAX_PORT = 65535

Address = IPv4Address | IPv6Address

_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_OCTET = re.compile(r"0|[1-9][0-9]{0,2}")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_PORT_PART = re.compile(r":[^\]]*\Z")
_ODD = {
    "@": "holds a user name",
    "%": "holds a percent sign",
    "/": "holds a slash",
    "\\": "holds a backslash",
    "*": "holds an asterisk",
    ":": "holds a colon outside brackets",
    "_": "holds an underscore",
}


class Host(msgspec.Struct, frozen=True):
    """A host in its only spelling; an IPv6 address stands in brackets."""

    text: str
    kind: Literal["name", "ipv4", "ipv6"] = "name"

    @property
    def address(self) -> Address | None:
        """The address that the host is, if it is not a name."""
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
        """As it stands in a request."""
        return f"{self.host.text}:{self.port}"


def host_of(address: Address) -> Host:
    """The host that an address is."""
    return Host(str(address), "ipv4") if isinstance(address, IPv4Address) else Host(f"[{address}]", "ipv6")


def canonical_host(text: str) -> Host | Refused:
    """The host that the text names, or why it is not taken for one."""
    if not text:
        return _no(text, "is empty")
    if len(text) > MAX_NAME + 1:
        return _no(text, f"is longer than {MAX_NAME} characters")
    if text.startswith("["):
        return _ipv6(text)
    if odd := next((_ODD.get(one) or "holds a space or a control character" for one in text if _is_odd(one)), ""):
        return _no(text, odd)
    lowered = text.translate(_LOWER)  # only ASCII: to lower `K` (a Kelvin sign) would make another name of it
    if _NUMBER.fullmatch(lowered.removesuffix(".").rpartition(".")[2]):
        return _ipv4(lowered)
    return _name(lowered.removesuffix("."))


def split_authority(text: str, default_port: int | None = None) -> Authority | Refused:
    """The host and port of `host:port`; without a default the port must be there."""
    head, colon, port_text = text.rpartition(":") if _PORT_PART.search(text) else (text, "", "")
    host = canonical_host(head)
    if isinstance(host, Refused):
        return Refused(host.kind, host.reason, shown(text))
    if not colon and default_port is not None:
        return Authority(host, default_port)
    port = parse_port(port_text)
    return _no(text, "has no port from 1 to 65535") if port is None else Authority(host, port)


def parse_port(text: str) -> int | None:
    """The port, if the text is a plain number from 1 to 65535."""
    return int(text) if _PORT.fullmatch(text) and int(text) <= MAX_PORT else None


def _is_odd(one: str) -> bool:
    return one in _ODD or one <= " " or one == "\x7f" or (one > "\x7f" and not one.isprintable())


def _ipv6(text: str) -> Host | Refused:
    if not text.endswith("]") or not text.isascii():
        return _no(text, "is not an IPv6 address in brackets")
    if "%" in text:
        return _no(text, "holds a zone, which means something else on every machine")
    try:
        return Host(f"[{IPv6Address(text[1:-1])}]", "ipv6")
    except AddressValueError:
        return _no(text, "is not an IPv6 address in brackets")


def _ipv4(text: str) -> Host | Refused:
    """Four plain decimal numbers; octal, hexadecimal and short forms are read differently by different programs."""
    parts = text.split(".")
    if len(parts) != 4 or not all(_OCTET.fullmatch(part) and int(part) <= 255 for part in parts):
        return _no(text, "is a number, but no plain IPv4 address such as 192.0.2.1")
    return Host(text, "ipv4")


def _name(text: str) -> Host | Refused:
    labels: list[str] = []
    for label in text.split("."):
        found = _label(label)
        if isinstance(found, Refused):
            return Refused(found.kind, found.reason, shown(text))
        labels.append(found)
    name = ".".join(labels)
    return Host(name) if len(name) <= MAX_NAME else _no(text, f"is longer than {MAX_NAME} characters")


def _label(label: str) -> str | Refused:
    if not label:
        return _no(label, "has an empty part between its dots")
    if not label.isascii() or label.startswith("xn--"):
        return _international(label)
    return (
        label if _LABEL.fullmatch(label) else _no(label, "has a part that is not made of letters, digits and hyphens")
    )


def _international(label: str) -> str | Refused:
    import idna

    try:
        plain = idna.ulabel(label) if label.isascii() else label
        encoded = idna.alabel(plain).decode("ascii")
    except UnicodeError:
        return _no(label, "has a part that is not a valid international name")
    if plain.isascii() or (label.isascii() and label != encoded) or not _LABEL.fullmatch(encoded):
        return _no(label, "has a part that is not a valid international name")
    if any(unicodedata.category(one).startswith("N") for one in plain if not one.isascii()):
        return _no(label, "has digits that are not ASCII")
    return encoded


def _no(text: str, problem: str) -> Refused:
    return Refused("host_invalid", f"the host {problem}", shown(text))
