"""SOCKS5 without a login: only the command that connects."""

from ipaddress import IPv4Address, IPv6Address

from skills_runtime.sandbox.egress.hosts import Authority, Host, canonical_host, host_of
from skills_runtime.sandbox.egress.values import Parsed, Refused, Wanting, shown

VERSION = 5
USE_NO_LOGIN = b"\x05\x00"
NO_METHOD = b"\x05\xff"

SUCCEEDED = 0
_FAILED = 1
_CODES = {
    "host_invalid": 8,
    "not_allowed": 2,
    "denied": 2,
    "address_blocked": 2,
    "name_mismatch": 2,
    "unreachable": 4,
}
_NO_LOGIN = 0
_CONNECT = 1
_IPV4, _NAME, _IPV6 = 1, 3, 4


def parse_greeting(data: bytes) -> Parsed[bool] | Wanting | Refused:
    """Whether the client can do without a login."""
    if data and data[0] != VERSION:
        return _odd("the greeting is not one of SOCKS5")
    if len(data) < 2:
        return Wanting()
    if data[1] == 0:
        return _odd("the greeting offers no way to log in or not to")
    end = 2 + data[1]
    return Parsed(_NO_LOGIN in data[2:end], end) if len(data) >= end else Wanting()


def parse_socks_request(data: bytes) -> Parsed[Authority] | Wanting | Refused:
    """Where the client wants to be connected to."""
    for position, expected, problem in (
        (0, (VERSION,), "the request is not one of SOCKS5"),
        (1, (_CONNECT,), "only the command that connects is known"),
        (2, (0,), "the reserved byte is not zero"),
        (3, (_IPV4, _NAME, _IPV6), "the kind of address is unknown"),
    ):
        if len(data) <= position:
            return Wanting()
        if data[position] not in expected:
            return _odd(problem)
    return _destination(data)


def _destination(data: bytes) -> Parsed[Authority] | Wanting | Refused:
    if data[3] == _NAME and len(data) < 5:
        return Wanting()
    start, length = {_IPV4: (4, 4), _IPV6: (4, 16), _NAME: (5, data[4] if len(data) > 4 else 0)}[data[3]]
    end = start + length + 2
    if len(data) < end:
        return Wanting()
    host = _host(data[3], data[start : end - 2])
    port = int.from_bytes(data[end - 2 : end], "big")
    if isinstance(host, Refused):
        return host
    return Parsed(Authority(host, port), end) if port else Refused("host_invalid", "the port is zero", host.text)


def _host(kind: int, raw: bytes) -> Host | Refused:
    if kind == _IPV4:
        return host_of(IPv4Address(raw))
    if kind == _IPV6:
        return host_of(IPv6Address(raw))
    if not raw.isascii():
        return Refused("host_invalid", "the host is not ASCII", shown(raw.decode("latin-1")))
    return canonical_host(raw.decode("ascii"))


def reply(refused: Refused | None) -> bytes:
    """The answer to a request; the address in it is never used by a client that connects."""
    code = SUCCEEDED if refused is None else _CODES.get(refused.kind, _FAILED)
    return bytes((VERSION, code, 0, _IPV4, 0, 0, 0, 0, 0, 0))


def _odd(problem: str) -> Refused:
    return Refused("request_invalid", problem)
