"""Which addresses are out in the open, and which lead back into this machine, its network or its cloud account.

Pure. The tables are our own, since what the standard library calls global differs between versions of Python.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Literal

from skills_runtime.sandbox.egress.hosts import Address

Reach = Literal["public", "private", "metadata", "special"]
"""Public; behind the same door; where a cloud keeps credentials; anything else, such as multicast."""

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
"""Services of clouds that hand out credentials to whoever asks; some of these addresses look public."""

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
_UNICAST_6 = IPv6Network("2000::/3")
"""Outside of it no IPv6 address is public: mapped, NAT64, link-local, multicast and private ones are all elsewhere."""

_SPECIAL_6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
_LAST_32_BITS = tuple(map(IPv6Network, ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48")))
_SIX_TO_FOUR = IPv6Network("2002::/16")
_TEREDO = IPv6Network("2001::/32")


def is_public(address: Address) -> bool:
    """Whether the address is that of a machine on the open internet."""
    return reach_of(address) == "public"


def reach_of(address: Address) -> Reach:
    """Where the address leads."""
    if address in METADATA or embedded(address) in METADATA:
        return "metadata"
    if isinstance(address, IPv4Address):
        return _reach_4(address)
    if address.scope_id is not None:
        return "special"
    if any(address in network for network in _PRIVATE_6):
        return "private"
    if address not in _UNICAST_6 or any(address in network for network in _SPECIAL_6):
        return "special"
    return "public"


def embedded(address: Address) -> IPv4Address | None:
    """The IPv4 address that a gateway would make of this IPv6 address, if any."""
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
    """The address that a resolver answered with; one bound to an interface counts as none."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return None if isinstance(address, IPv6Address) and address.scope_id is not None else address


def _reach_4(address: IPv4Address) -> Reach:
    if any(address in network for network in _PRIVATE_4):
        return "private"
    return "special" if any(address in network for network in _SPECIAL_4) else "public"
