"""A request to a proxy: `CONNECT host:port`, or a whole `http://` address; inside a tunnel only a path."""

import re

import msgspec

from skills_runtime.sandbox.egress.hosts import Authority, split_authority
from skills_runtime.sandbox.egress.values import Parsed, Refused, Wanting, shown
from skills_runtime.sandbox.egress.wire.headers import Framing, Headers, framing_of, parse_head

HTTP_PORT = 80

_LINE = re.compile(r"([A-Z][A-Z-]{0,31}) ([!-~]+) HTTP/1\.([01])")
_ABSOLUTE = re.compile(r"(?i:http)://([^/?#]*)([^#]*)")


class Request(msgspec.Struct, frozen=True):
    """One request whose host is known beyond doubt."""

    method: str
    authority: Authority
    path: str
    minor_version: int
    headers: Headers
    framing: Framing

    @property
    def keeps_alive(self) -> bool:
        """Whether another request may follow on the connection."""
        return self.minor_version == 1 and not self.headers.wants_close()


def parse_request(data: bytes, limit: int, tunnel: Authority | None = None) -> Parsed[Request] | Wanting | Refused:
    """The request at the beginning of the data; in a `tunnel` it must be meant for the tunnel's own end."""
    head = parse_head(data, limit)
    if not isinstance(head, Parsed):
        return head
    line, headers = head.value
    words = _LINE.fullmatch(line)
    if words is None:
        return _odd("the first line is not that of an HTTP/1.1 request")
    method, target, minor = words[1], words[2], int(words[3])
    found = _inner_target(target, tunnel) if tunnel else _target(method, target)
    if isinstance(found, Refused):
        return found
    authority, path = found
    request = _checked(Request(method, authority, path, minor, headers, Framing("none")))
    return request if isinstance(request, Refused) else Parsed(request, head.used)


def _target(method: str, target: str) -> tuple[Authority, str] | Refused:
    if method == "CONNECT":
        authority = split_authority(target)
        return authority if isinstance(authority, Refused) else (authority, "")
    found = _ABSOLUTE.fullmatch(target)
    if found is None:
        return Refused("request_invalid", "the target is not a whole `http://` address", shown(target))
    authority = split_authority(found[1], HTTP_PORT)
    if isinstance(authority, Refused):
        return authority
    rest = found[2]
    if rest.startswith("/"):
        return authority, rest
    return authority, "*" if method == "OPTIONS" and not rest else f"/{rest}"


def _inner_target(target: str, tunnel: Authority) -> tuple[Authority, str] | Refused:
    if (target.startswith("/") and "#" not in target) or target == "*":
        return tunnel, target
    return Refused("request_invalid", "the target of a request in a tunnel is not a path", shown(target))


def _checked(request: Request) -> Request | Refused:
    wrong_host = _other_host(request)
    if wrong_host:
        return wrong_host
    if request.minor_version == 0 and request.headers.get("transfer-encoding") is not None:
        return _odd("a request of HTTP/1.0 has a transfer coding")
    if (request.headers.get("expect") or "100-continue").lower() != "100-continue":
        return _odd("the request expects something unknown")
    if request.path == "*" and request.method != "OPTIONS":
        return _odd("only `OPTIONS` may ask about the server as a whole")
    framing = framing_of(request.headers, without="none")
    if isinstance(framing, Refused):
        return framing
    if request.method in ("CONNECT", "TRACE") and framing.kind != "none":
        return _odd(f"a `{request.method}` request has a body")
    return msgspec.structs.replace(request, framing=framing)


def _other_host(request: Request) -> Refused | None:
    """Why the Host header speaks of another host than the target."""
    text = request.headers.get("host")
    if text is None:
        return _odd("the request has no Host header") if request.minor_version == 1 else None
    # Some clients leave out the port when they ask for a tunnel, where it says nothing about the destination.
    default = request.authority.port if request.method == "CONNECT" else HTTP_PORT
    host = split_authority(text, default)
    if isinstance(host, Refused):
        return host
    if host != request.authority:
        return Refused("name_mismatch", f"the Host header names {host.text} instead", request.authority.text)
    return None


def _odd(problem: str) -> Refused:
    return Refused("request_invalid", problem)
