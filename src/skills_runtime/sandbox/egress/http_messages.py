"""Strict HTTP/1.1: heads and bodies are parsed and serialized again.

Ambiguous messages are refused. Pure: bytes in, values or refusals out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from skills_runtime.sandbox.egress.rules import (
    Authority,
    Incomplete,
    Kind,
    Parsed,
    Refused,
    escape_text,
    split_authority,
)

MAX_HEADERS = 200
MAX_LENGTH_DIGITS = 15

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_LENGTH = re.compile(rf"[0-9]{{1,{MAX_LENGTH_DIGITS}}}")
_LONE_LINE_END = re.compile(rb"(?<!\r)\n|\r(?!\n)(?!\Z)")
_HEAD_END = b"\r\n\r\n"

# A second one of these would make the target or the framing of a message ambiguous.
SINGLE_HEADERS = frozenset(
    {
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "proxy-connection",
        "expect",
        "upgrade",
        "te",
        "trailer",
    }
)

HOP_BY_HOP = frozenset(
    {
        "connection", "proxy-connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
        "transfer-encoding", "upgrade", "http2-settings", "expect", "content-length",
    }
)  # fmt: skip
"""Headers that the proxy handles and replaces itself."""

_NEVER_HOP_BY_HOP = frozenset({"host", "content-length", "transfer-encoding"})


class Framing(msgspec.Struct, frozen=True):
    """How the body ends."""

    kind: Literal["none", "length", "chunked", "until_close"]
    length: int = 0


class Headers(msgspec.Struct, frozen=True):
    """The headers of one message, names in lower case, in their order."""

    pairs: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str | None:
        """Return the first value with this name."""
        return next((value for key, value in self.pairs if key == name), None)

    def tokens(self, name: str) -> frozenset[str]:
        """Return the comma-separated values, in lower case."""
        return frozenset(token.strip(" \t").lower() for token in (self.get(name) or "").split(","))

    def end_to_end(self) -> tuple[tuple[str, str], ...]:
        """Return the headers without those of the connection."""
        connection_headers = self.tokens("connection")
        return tuple(pair for pair in self.pairs if pair[0] not in HOP_BY_HOP and pair[0] not in connection_headers)

    def has_close(self) -> bool:
        """Return whether the sender closes the connection after this message."""
        return "close" in self.tokens("connection") | self.tokens("proxy-connection")


def parse_head(data: bytes, limit: int) -> Parsed[tuple[str, Headers]] | Incomplete | Refused:
    """Return the first line and the headers, up to the empty line."""
    end = data.find(_HEAD_END)
    head = data[: end + 2] if end >= 0 else data
    if len(head) > limit:
        return Refused("limit", f"the head of the message is longer than {limit} bytes")
    if _LONE_LINE_END.search(head):
        return Refused("request_invalid", "a line of the head does not end with carriage return and line feed")
    if data.startswith(b"\r"):
        return Refused("request_invalid", "the message begins with an empty line")
    if end < 0:
        return Incomplete()
    first, *lines = head[:-2].decode("latin-1").split("\r\n")
    headers = _parse_headers(lines)
    return headers if isinstance(headers, Refused) else Parsed((first, headers), end + len(_HEAD_END))


def parse_framing(headers: Headers, *, default: Literal["none", "until_close"]) -> Framing | Refused:
    """Return how the body ends according to parsed headers; `default` applies when they do not say."""
    length, coding = headers.get("content-length"), headers.get("transfer-encoding")
    if length is not None and coding is not None:
        return Refused("request_invalid", "the body has both a length and a transfer coding")
    if coding is not None:
        return Framing("chunked") if coding.lower() == "chunked" else _invalid("the transfer coding is not `chunked`")
    if length is None:
        return Framing(default)
    return (
        Framing("length", int(length)) if _LENGTH.fullmatch(length) else _invalid("the content length is not a number")
    )


def _parse_headers(lines: Sequence[str]) -> Headers | Refused:
    if len(lines) > MAX_HEADERS:
        return Refused("limit", f"the message has more than {MAX_HEADERS} headers")
    pairs: list[tuple[str, str]] = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not _TOKEN.fullmatch(name):
            return _invalid("a header line is folded or has no proper name")
        if not _VALUE.fullmatch(value):
            return _invalid("a header holds a control character")
        pairs.append((name.lower(), value.strip(" \t")))
    headers = Headers(tuple(pairs))
    counts = Counter(name for name, _ in pairs)
    if disguised := next((name for name in counts if "_" in name and name.replace("_", "-") in SINGLE_HEADERS), None):
        return _invalid(f"the header `{disguised}` passes for another one")
    if repeated := next((name for name in SINGLE_HEADERS if counts[name] > 1), None):
        return _invalid(f"the header `{repeated}` stands there twice")
    if headers.tokens("connection") & _NEVER_HOP_BY_HOP:
        return _invalid("the connection header takes away a header that says where the message goes or ends")
    return headers


def _invalid(problem: str) -> Refused:
    return Refused("request_invalid", problem)


_SIZE = re.compile(rb"[0-9A-Fa-f]{1,8}")
_LINE_END = b"\r\n"


def parse_chunk_size(data: bytes) -> Parsed[int] | Incomplete | Refused:
    """Parse the size line of a chunk; zero is the last one."""
    match = _SIZE.match(data)
    if data and not match:
        return Refused("request_invalid", "a chunk of the body does not begin with its size")
    consumed = match.end() if match else 0
    ending = data[consumed : consumed + len(_LINE_END)]
    if not _LINE_END.startswith(ending):
        return Refused("request_invalid", "the size of a chunk is followed by something else, or is too long")
    if ending != _LINE_END or not match:
        return Incomplete()
    return Parsed(int(match[0], 16), consumed + len(_LINE_END))


def parse_chunk_end(data: bytes) -> Parsed[int] | Incomplete | Refused:
    """Parse the line end after a chunk."""
    return _parse_line_end(data, "a chunk of the body is longer or shorter than its size says")


def parse_last_line(data: bytes) -> Parsed[int] | Incomplete | Refused:
    """Parse the empty line that ends the body."""
    return _parse_line_end(data, "the body has headers at its end")


def _parse_line_end(data: bytes, problem: str) -> Parsed[int] | Incomplete | Refused:
    ending = data[: len(_LINE_END)]
    if not _LINE_END.startswith(ending):
        return Refused("request_invalid", problem)
    return Parsed(0, len(_LINE_END)) if ending == _LINE_END else Incomplete()


HTTP_PORT = 80

_REQUEST_LINE = re.compile(r"([A-Z][A-Z-]{0,31}) ([!-~]+) HTTP/1\.([01])")
_ABSOLUTE = re.compile(r"(?i:http)://([^/?#]*)([^#]*)")


class Request(msgspec.Struct, frozen=True):
    """One request whose host is unambiguous."""

    method: str
    authority: Authority
    path: str
    minor_version: int
    headers: Headers
    framing: Framing

    @property
    def keeps_alive(self) -> bool:
        """Return whether another request may follow on the connection."""
        return self.minor_version == 1 and not self.headers.has_close()


def parse_request(data: bytes, limit: int, tunnel: Authority | None = None) -> Parsed[Request] | Incomplete | Refused:
    """Parse the request at the beginning of the data; in a `tunnel` its host must be the tunnel's."""
    head = parse_head(data, limit)
    if not isinstance(head, Parsed):
        return head
    line, headers = head.value
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        return _invalid("the first line is not that of an HTTP/1.1 request")
    method, target, minor = match[1], match[2], int(match[3])
    if not tunnel:
        destination = _parse_target(method, target)
    elif (target.startswith("/") and "#" not in target) or target == "*":
        destination = tunnel, target
    else:
        destination = Refused(
            "request_invalid", "the target of a request in a tunnel is not a path", escape_text(target)
        )
    if isinstance(destination, Refused):
        return destination
    authority, path = destination
    request = _validate_request(Request(method, authority, path, minor, headers, Framing("none")))
    return request if isinstance(request, Refused) else Parsed(request, head.consumed)


def _parse_target(method: str, target: str) -> tuple[Authority, str] | Refused:
    if method == "CONNECT":
        authority = split_authority(target)
        return authority if isinstance(authority, Refused) else (authority, "")
    match = _ABSOLUTE.fullmatch(target)
    if match is None:
        return Refused("request_invalid", "the target is not a whole `http://` address", escape_text(target))
    authority = split_authority(match[1], HTTP_PORT)
    if isinstance(authority, Refused):
        return authority
    path = match[2]
    if path.startswith("/"):
        return authority, path
    return authority, "*" if method == "OPTIONS" and not path else f"/{path}"


def _validate_request(request: Request) -> Request | Refused:
    wrong_host = _check_host_header(request)
    if wrong_host:
        return wrong_host
    if request.minor_version == 0 and request.headers.get("transfer-encoding") is not None:
        return _invalid("a request of HTTP/1.0 has a transfer coding")
    if (request.headers.get("expect") or "100-continue").lower() != "100-continue":
        return _invalid("the request expects something unknown")
    if request.path == "*" and request.method != "OPTIONS":
        return _invalid("only `OPTIONS` may ask about the server as a whole")
    framing = parse_framing(request.headers, default="none")
    if isinstance(framing, Refused):
        return framing
    if request.method in ("CONNECT", "TRACE") and framing.kind != "none":
        return _invalid(f"a `{request.method}` request has a body")
    return msgspec.structs.replace(request, framing=framing)


def _check_host_header(request: Request) -> Refused | None:
    """Return a refusal when the Host header and the target name different hosts."""
    text = request.headers.get("host")
    if text is None:
        return _invalid("the request has no Host header") if request.minor_version == 1 else None
    # Some clients omit the port in CONNECT's Host header, which does not affect the destination.
    default = request.authority.port if request.method == "CONNECT" else HTTP_PORT
    host = split_authority(text, default)
    if isinstance(host, Refused):
        return host
    if host != request.authority:
        return Refused("name_mismatch", f"the Host header names {host.text} instead", request.authority.text)
    return None


_STATUS_LINE = re.compile(r"HTTP/1\.[01] ([1-5][0-9]{2})(?: ([\t\x20-\x7e\x80-\xff]*))?")
_WITHOUT_BODY = (204, 304)


class Response(msgspec.Struct, frozen=True):
    """The head of a response, and how its body ends."""

    status: int
    reason: str
    headers: Headers
    framing: Framing

    @property
    def is_interim(self) -> bool:
        """Return whether this is an interim (1xx) response."""
        return self.status < 200


def parse_response(data: bytes, limit: int, method: str) -> Parsed[Response] | Incomplete | Refused:
    """Parse the response at the beginning of the data, to a request with this method."""
    head = parse_head(data, limit)
    if not isinstance(head, Parsed):
        return head
    line, headers = head.value
    match = _STATUS_LINE.fullmatch(line)
    if match is None:
        return Refused("request_invalid", "the answer is not one of HTTP/1.1")
    status = int(match[1])
    if status == 101:
        return Refused("request_invalid", "the server switches to a protocol that was not requested")
    framing = parse_framing(headers, default="until_close")
    if isinstance(framing, Refused):
        return framing
    if method == "HEAD" or status < 200 or status in _WITHOUT_BODY:
        framing = Framing("none")
    return Parsed(Response(status, match[2] or "", headers, framing), head.consumed)


ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
TLS_REFUSED = b"\x15\x03\x01\x00\x02\x02\x31"
"""The TLS alert `access_denied`, which clients display as such."""

LAST_CHUNK = b"0\r\n\r\n"

_STATUS = {
    "host_invalid": "400 Bad Request",
    "request_invalid": "400 Bad Request",
    "unreachable": "502 Bad Gateway",
    "limit": "429 Too Many Requests",
    "closed": "502 Bad Gateway",
}
_FORBIDDEN = "403 Forbidden"
_UPSTREAM_FAILURES = ("unreachable", "closed")
_HINTS: dict[Kind, str] = {
    "not_allowed": "ask the user to allow this host for the sandbox",
    "address_blocked": "only a rule that names this very address lets a sandbox reach it",
    "name_mismatch": "ask for the same host in every place of the request",
}


def render_request_head(request: Request) -> bytes:
    """Render the request for the server: a path, one Host header, and `Connection: close`."""
    authority = request.authority
    host = authority.host.text if authority.port == HTTP_PORT else authority.text
    forwarded = [pair for pair in request.headers.end_to_end() if pair[0] != "host"]
    lines = [("host", host), *forwarded, *_framing_headers(request.framing), ("connection", "close")]
    return _head(f"{request.method} {request.path} HTTP/1.1", lines)


def render_response_head(response: Response, request: Request, *, keep_alive: bool) -> bytes:
    """Render the response head for the client."""
    lines = list(response.headers.end_to_end())
    length = response.headers.get("content-length")
    if response.framing.kind == "none" and length is not None and response.status != 204:
        # The length that a GET response would have.
        lines.append(("content-length", length))
    elif request.minor_version == 1 or response.framing.kind != "chunked":
        lines.extend(_framing_headers(response.framing))
    lines.append(("connection", "keep-alive" if keep_alive else "close"))
    return _head(f"HTTP/1.1 {response.status} {response.reason}", lines)


def encode_chunk(data: bytes) -> bytes:
    """Encode one chunk of a body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def render_refusal(refused: Refused) -> bytes:
    """Render the response for a refused request."""
    begin = (
        "The request did not get through" if refused.kind in _UPSTREAM_FAILURES else "The sandbox refuses the request"
    )
    hint = f"Hint: {_HINTS[refused.kind]}.\n" if refused.kind in _HINTS else ""
    body = f"{begin}: {refused.reason}.\n{hint}".encode("ascii", "backslashreplace")
    lines = [
        ("x-proxy-error", refused.kind),
        ("content-type", "text/plain; charset=utf-8"),
        ("content-length", str(len(body))),
        ("connection", "close"),
    ]
    return _head(f"HTTP/1.1 {_STATUS.get(refused.kind, _FORBIDDEN)}", lines) + body


def _framing_headers(framing: Framing) -> list[tuple[str, str]]:
    match framing.kind:
        case "length":
            return [("content-length", str(framing.length))]
        case "chunked":
            return [("transfer-encoding", "chunked")]
        case _:
            return []


def _head(first: str, lines: Iterable[tuple[str, str]]) -> bytes:
    return "".join([first, "\r\n", *(f"{name}: {value}\r\n" for name, value in lines), "\r\n"]).encode("latin-1")
