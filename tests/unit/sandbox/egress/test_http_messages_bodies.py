"""Chunks of bodies, and the heads of answers."""

import pytest

from skills_runtime.sandbox.egress.http_messages import (
    Framing,
    parse_chunk_end,
    parse_chunk_size,
    parse_last_line,
    parse_request,
    parse_response,
    render_response_head,
)
from skills_runtime.sandbox.egress.rules import Incomplete, Parsed, Refused

LIMIT = 1000


@pytest.mark.parametrize(("data", "size"), [(b"5\r\n", 5), (b"0\r\n", 0), (b"aF\r\nx", 175), (b"0000000a\r\n", 10)])
def test_a_chunk_begins_with_its_size(data: bytes, size: int) -> None:
    assert parse_chunk_size(data) == Parsed(size, data.index(b"\n") + 1)
    assert parse_chunk_size(data[:1]) == Incomplete()


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n", b"5;x\r\n", b"5;x=y\r\n", b"5 \r\n", b" 5\r\n", b"5\n", b"5\rx", b"0x5\r\n", b"+5\r\n", b"-5\r\n",
        b"g\r\n", b"5_0\r\n",
        b"123456789\r\n", b"5\x00\r\n", b"5;\n", b"5\t\r\n", b"\xb2\r\n", b"5,5\r\n", b"5\r\r\n", b"5;" + b"a" * 5000,
    ],
    ids=lambda data: ascii(data)[:40],
)  # fmt: skip
def test_a_size_that_could_be_read_in_two_ways_is_refused(data: bytes) -> None:
    assert isinstance(parse_chunk_size(data), Refused)


def test_a_chunk_ends_where_its_size_says() -> None:
    assert parse_chunk_end(b"\r\n5") == Parsed(0, 2)
    assert parse_chunk_end(b"\r") == Incomplete()
    for data in (b"x", b"\n", b"\rx"):
        assert isinstance(parse_chunk_end(data), Refused)


def test_nothing_follows_the_last_chunk() -> None:
    assert parse_last_line(b"\r\n") == Parsed(0, 2)
    assert isinstance(parse_last_line(b"Host: evil.test\r\n\r\n"), Refused)


def response(data: bytes, method: str = "GET") -> Framing | None:
    found = parse_response(data, LIMIT, method)
    return found.value.framing if isinstance(found, Parsed) else None


@pytest.mark.parametrize(
    ("data", "method", "framing"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", "GET", Framing("until_close")),
        (b"HTTP/1.0 200\r\nContent-Length: 3\r\n\r\n", "GET", Framing("length", 3)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "GET", Framing("chunked")),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "HEAD", Framing("none")),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "GET", Framing("none")),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", "GET", Framing("none")),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "POST", Framing("none")),
    ],
)
def test_the_end_of_an_answer_is_known(data: bytes, method: str, framing: Framing) -> None:
    assert response(data, method) == framing


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\n\n", b"HTTP/2 200 OK\r\n\r\n", b"HTTP/1.1 999 X\r\n\r\n", b"HTTP/1.1 20 X\r\n\r\n",
        b"ICY 200 OK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n folded\r\n\r\n",
        b"HTTP/1.1 200 O\x00K\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"a" * LIMIT + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    ],
    ids=lambda data: ascii(data)[:60],
)  # fmt: skip
def test_an_answer_that_could_be_read_in_two_ways_is_refused(data: bytes) -> None:
    assert response(data) is None


def test_the_client_gets_an_answer_of_our_own_making() -> None:
    request = parse_request(b"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", LIMIT)
    found = parse_response(
        b"HTTP/1.1 200 OK\r\nKeep-Alive: 5\r\nX:  1\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\n", LIMIT, "GET"
    )
    assert isinstance(request, Parsed)
    assert isinstance(found, Parsed)
    assert (
        render_response_head(found.value, request.value, keep_alive=False)
        == b"HTTP/1.1 200 OK\r\nx: 1\r\nconnection: close\r\n\r\n"
    )
