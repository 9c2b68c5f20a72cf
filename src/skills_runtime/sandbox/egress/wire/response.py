"""A server's answer, read only as far as is needed to know where it ends."""

import re

import msgspec

from skills_runtime.sandbox.egress.values import Parsed, Refused, Wanting
from skills_runtime.sandbox.egress.wire.headers import Framing, Headers, framing_of, parse_head

_LINE = re.compile(r"HTTP/1\.[01] ([1-5][0-9]{2})(?: ([\t\x20-\x7e\x80-\xff]*))?")
_WITHOUT_BODY = (204, 304)


class Response(msgspec.Struct, frozen=True):
    """The head of an answer, and how its body ends."""

    status: int
    reason: str
    headers: Headers
    framing: Framing

    @property
    def is_interim(self) -> bool:
        """Whether the real answer is still to come."""
        return self.status < 200


def parse_response(data: bytes, limit: int, method: str) -> Parsed[Response] | Wanting | Refused:
    """The answer at the beginning of the data, to a request with this method."""
    head = parse_head(data, limit)
    if not isinstance(head, Parsed):
        return head
    line, headers = head.value
    words = _LINE.fullmatch(line)
    if words is None:
        return Refused("request_invalid", "the answer is not one of HTTP/1.1")
    status = int(words[1])
    if status == 101:
        return Refused("request_invalid", "the server changes to a protocol that nobody asked for")
    framing = framing_of(headers, without="until_close")
    if isinstance(framing, Refused):
        return framing
    if method == "HEAD" or status < 200 or status in _WITHOUT_BODY:
        framing = Framing("none")
    return Parsed(Response(status, words[2] or "", headers, framing), head.used)
