"""From a name to a connected socket: looked up once, every address checked, and connected to what was checked."""

import asyncio
import socket
from collections.abc import Sequence

from skills_runtime.sandbox.egress.addresses import parse_address, reach_of
from skills_runtime.sandbox.egress.hosts import Address, Host
from skills_runtime.sandbox.egress.policy import EgressPolicy, Rule, admit
from skills_runtime.sandbox.egress.record import Resolver
from skills_runtime.sandbox.egress.values import Refused

MAX_ADDRESSES = 4
"""How many addresses of one name are tried."""

DISCARD_PORT = 9


async def system_resolver(name: str, port: int) -> Sequence[str]:
    """The addresses that this machine finds for a name."""
    found = await asyncio.get_running_loop().getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


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
