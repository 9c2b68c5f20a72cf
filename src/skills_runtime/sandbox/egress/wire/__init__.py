"""Parsers of what clients and servers send: pure, bounded and strict, for two readings of one text are an attack."""

from skills_runtime.sandbox.egress.wire.chunks import parse_chunk_end, parse_chunk_size, parse_last_line
from skills_runtime.sandbox.egress.wire.client_hello import parse_server_name
from skills_runtime.sandbox.egress.wire.headers import Framing, Headers
from skills_runtime.sandbox.egress.wire.request import Request, parse_request
from skills_runtime.sandbox.egress.wire.response import Response, parse_response
from skills_runtime.sandbox.egress.wire.socks import NO_METHOD, USE_NO_LOGIN, parse_greeting, parse_socks_request, reply
from skills_runtime.sandbox.egress.wire.writing import (
    ESTABLISHED,
    LAST_CHUNK,
    TLS_REFUSED,
    as_chunk,
    refusal,
    request_head,
    response_head,
)

__all__ = [
    "ESTABLISHED",
    "LAST_CHUNK",
    "NO_METHOD",
    "TLS_REFUSED",
    "USE_NO_LOGIN",
    "Framing",
    "Headers",
    "Request",
    "Response",
    "as_chunk",
    "parse_chunk_end",
    "parse_chunk_size",
    "parse_greeting",
    "parse_last_line",
    "parse_request",
    "parse_response",
    "parse_server_name",
    "parse_socks_request",
    "refusal",
    "reply",
    "request_head",
    "response_head",
]
