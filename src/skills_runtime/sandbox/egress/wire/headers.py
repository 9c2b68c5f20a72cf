"""The head of a message: lines that end in one way, headers that mean one thing, one length for the body."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from skills_runtime.sandbox.egress.values import Parsed, Refused, Wanting

MAX_HEADERS = 200
MAX_LENGTH_DIGITS = 15

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_LENGTH = re.compile(rf"[0-9]{{1,{MAX_LENGTH_DIGITS}}}")
_LONE_LINE_END = re.compile(rb"(?<!\r)\n|\r(?!\n)(?!\Z)")
_END = b"\r\n\r\n"

ONCE = frozenset(
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
"""Headers about where a message goes or ends, or about the connection: a second one is a second opinion."""

HOP_BY_HOP = frozenset(
    {
        "connection", "proxy-connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
        "transfer-encoding", "upgrade", "http2-settings", "expect", "content-length",
    }
)  # fmt: skip
"""Headers that the proxy answers or writes anew itself."""

_NEVER_NAMED = frozenset({"host", "content-length", "transfer-encoding"})


class Framing(msgspec.Struct, frozen=True):
    """How the body ends."""

    kind: Literal["none", "length", "chunked", "until_close"]
    length: int = 0


class Headers(msgspec.Struct, frozen=True):
    """The headers of one message, names in lower case, in their order."""

    pairs: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str | None:
        """The first value under this name."""
        return next((value for key, value in self.pairs if key == name), None)

    def words(self, name: str) -> frozenset[str]:
        """The list that the value is, in lower case."""
        return frozenset(word.strip(" \t").lower() for word in (self.get(name) or "").split(","))

    def end_to_end(self) -> tuple[tuple[str, str], ...]:
        """What is meant for the other end and not for this connection."""
        named = self.words("connection")
        return tuple(pair for pair in self.pairs if pair[0] not in HOP_BY_HOP and pair[0] not in named)

    def wants_close(self) -> bool:
        """Whether the sender ends the connection after this message."""
        return "close" in self.words("connection") | self.words("proxy-connection")


def parse_head(data: bytes, limit: int) -> Parsed[tuple[str, Headers]] | Wanting | Refused:
    """The first line and the headers, up to the empty line."""
    end = data.find(_END)
    head = data[: end + 2] if end >= 0 else data
    if len(head) > limit:
        return Refused("limit", f"the head of the message is longer than {limit} bytes")
    if _LONE_LINE_END.search(head):
        return Refused("request_invalid", "a line of the head does not end with carriage return and line feed")
    if data.startswith(b"\r"):
        return Refused("request_invalid", "the message begins with an empty line")
    if end < 0:
        return Wanting()
    first, *lines = head[:-2].decode("latin-1").split("\r\n")
    headers = _headers(lines)
    return headers if isinstance(headers, Refused) else Parsed((first, headers), end + len(_END))


def framing_of(headers: Headers, *, without: Literal["none", "until_close"]) -> Framing | Refused:
    """How the body ends, according to headers that `parse_head` has accepted; `without` any it ends like this."""
    length, coding = headers.get("content-length"), headers.get("transfer-encoding")
    if length is not None and coding is not None:
        return Refused("request_invalid", "the body has both a length and a transfer coding")
    if coding is not None:
        return Framing("chunked") if coding.lower() == "chunked" else _odd("the transfer coding is not `chunked`")
    if length is None:
        return Framing(without)
    return Framing("length", int(length)) if _LENGTH.fullmatch(length) else _odd("the content length is not a number")


def _headers(lines: Sequence[str]) -> Headers | Refused:
    if len(lines) > MAX_HEADERS:
        return Refused("limit", f"the message has more than {MAX_HEADERS} headers")
    pairs: list[tuple[str, str]] = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not _TOKEN.fullmatch(name):
            return _odd("a header line is folded or has no proper name")
        if not _VALUE.fullmatch(value):
            return _odd("a header holds a control character")
        pairs.append((name.lower(), value.strip(" \t")))
    return _consistent(Headers(tuple(pairs)))


def _consistent(headers: Headers) -> Headers | Refused:
    counts = Counter(name for name, _ in headers.pairs)
    if disguised := next((name for name in counts if "_" in name and name.replace("_", "-") in ONCE), None):
        return _odd(f"the header `{disguised}` passes for another one")
    if repeated := next((name for name in ONCE if counts[name] > 1), None):
        return _odd(f"the header `{repeated}` stands there twice")
    if headers.words("connection") & _NEVER_NAMED:
        return _odd("the connection header takes away a header that says where the message goes or ends")
    return headers


def _odd(problem: str) -> Refused:
    return Refused("request_invalid", problem)
