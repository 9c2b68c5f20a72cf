"""Messages as bytes, made of what was understood and nothing else."""

from collections.abc import Iterable

from skills_runtime.sandbox.egress.values import Kind, Refused
from skills_runtime.sandbox.egress.wire.headers import Framing
from skills_runtime.sandbox.egress.wire.request import HTTP_PORT, Request
from skills_runtime.sandbox.egress.wire.response import Response

ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
TLS_REFUSED = b"\x15\x03\x01\x00\x02\x02\x31"
"""The alert `access_denied`, which clients show as such."""

LAST_CHUNK = b"0\r\n\r\n"

_STATUS = {
    "host_invalid": "400 Bad Request",
    "request_invalid": "400 Bad Request",
    "unreachable": "502 Bad Gateway",
    "limit": "429 Too Many Requests",
    "closed": "502 Bad Gateway",
}
_FORBIDDEN = "403 Forbidden"
_NOT_OURS = ("unreachable", "closed")
_HINTS: dict[Kind, str] = {
    "not_allowed": "ask the user to allow this host for the sandbox",
    "address_blocked": "only a rule that names this very address lets a sandbox reach it",
    "name_mismatch": "ask for the same host in every place of the request",
}


def request_head(request: Request) -> bytes:
    """The request as the server gets it: a path, one Host header, and the end of the connection behind it."""
    authority = request.authority
    host = authority.host.text if authority.port == HTTP_PORT else authority.text
    kept = [pair for pair in request.headers.end_to_end() if pair[0] != "host"]
    lines = [("host", host), *kept, *_framing(request.framing), ("connection", "close")]
    return _head(f"{request.method} {request.path} HTTP/1.1", lines)


def response_head(response: Response, request: Request, *, keeps: bool) -> bytes:
    """The answer as the client gets it."""
    lines = list(response.headers.end_to_end())
    length = response.headers.get("content-length")
    if response.framing.kind == "none" and length is not None and response.status != 204:
        lines.append(("content-length", length))  # of the body that a request without HEAD would bring
    elif request.minor_version == 1 or response.framing.kind != "chunked":
        lines.extend(_framing(response.framing))
    lines.append(("connection", "keep-alive" if keeps else "close"))
    return _head(f"HTTP/1.1 {response.status} {response.reason}", lines)


def as_chunk(data: bytes) -> bytes:
    """One chunk of a body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def refusal(refused: Refused) -> bytes:
    """The answer to a client whose request goes no further."""
    begin = "The request did not get through" if refused.kind in _NOT_OURS else "The sandbox refuses the request"
    hint = f"Hint: {_HINTS[refused.kind]}.\n" if refused.kind in _HINTS else ""
    body = f"{begin}: {refused.reason}.\n{hint}".encode("ascii", "backslashreplace")
    lines = [
        ("x-proxy-error", refused.kind),
        ("content-type", "text/plain; charset=utf-8"),
        ("content-length", str(len(body))),
        ("connection", "close"),
    ]
    return _head(f"HTTP/1.1 {_STATUS.get(refused.kind, _FORBIDDEN)}", lines) + body


def _framing(framing: Framing) -> list[tuple[str, str]]:
    match framing.kind:
        case "length":
            return [("content-length", str(framing.length))]
        case "chunked":
            return [("transfer-encoding", "chunked")]
        case _:
            return []


def _head(first: str, lines: Iterable[tuple[str, str]]) -> bytes:
    return "".join([first, "\r\n", *(f"{name}: {value}\r\n" for name, value in lines), "\r\n"]).encode("latin-1")
