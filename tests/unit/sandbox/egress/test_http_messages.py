"""Requests to the proxy: what is understood, and everything that could be understood in two ways."""

import pytest

from skills_runtime.sandbox.egress.http_messages import Framing, Request, parse_request, render_request_head
from skills_runtime.sandbox.egress.rules import Authority, Host, Incomplete, Parsed, Refused

LIMIT = 4096
TUNNEL = Authority(Host("example.com"), 80)
GET = b"GET http://example.com/ HTTP/1.1\r\n"
HOST = b"Host: example.com\r\n"
END = b"\r\n"


def understood(data: bytes, tunnel: Authority | None = None) -> Request:
    found = parse_request(data, LIMIT, tunnel)
    assert isinstance(found, Parsed), found
    return found.value


@pytest.mark.parametrize(
    ("data", "method", "authority", "path"),
    [
        (GET + HOST + END, "GET", "example.com:80", "/"),
        (
            b"GET HTTP://EXAMPLE.com:80/a?b=c HTTP/1.1\r\nhost: Example.COM:80\r\n\r\n",
            "GET",
            "example.com:80",
            "/a?b=c",
        ),
        (b"GET http://example.com HTTP/1.1\r\n" + HOST + END, "GET", "example.com:80", "/"),
        (b"GET http://example.com?x HTTP/1.1\r\n" + HOST + END, "GET", "example.com:80", "/?x"),
        (b"OPTIONS http://example.com HTTP/1.1\r\n" + HOST + END, "OPTIONS", "example.com:80", "*"),
        (b"GET http://[::1]:81/ HTTP/1.1\r\nHost: [::1]:81\r\n\r\n", "GET", "[::1]:81", "/"),
        (b"GET http://example.com/ HTTP/1.0\r\n\r\n", "GET", "example.com:80", "/"),
        (b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n", "CONNECT", "example.com:443", ""),
        (b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n", "CONNECT", "example.com:443", ""),
        (b"CONNECT example.com:443 HTTP/1.0\r\n\r\n", "CONNECT", "example.com:443", ""),
    ],
)
def test_a_request_is_understood(data: bytes, method: str, authority: str, path: str) -> None:
    request = understood(data)
    assert (request.method, request.authority.text, request.path) == (method, authority, path)


LINES = [
    b"GET / HTTP/1.1", b"GET * HTTP/1.1", b"GET https://example.com/ HTTP/1.1", b"GET ftp://example.com/ HTTP/1.1",
    b"GET file:///etc/passwd HTTP/1.1", b"GET gopher://example.com/ HTTP/1.1", b"GET //example.com/ HTTP/1.1",
    b"GET http:/example.com/ HTTP/1.1", b"GET http:example.com HTTP/1.1", b"GET http:///x HTTP/1.1",
    b"GET http:// HTTP/1.1",
    b"GET http://example.com/#x HTTP/1.1", b"GET http://user@example.com/ HTTP/1.1",
    b"GET http://u:p@example.com/ HTTP/1.1",
    b"GET http://example.com@evil.test/ HTTP/1.1", b"GET http://evil.test\\@example.com/ HTTP/1.1",
    b"GET http://example.com\\.evil.test/ HTTP/1.1", b"GET http://example.com:80:80/ HTTP/1.1",
    b"GET http://example.com:/ HTTP/1.1",
    b"GET http://example.com:0/ HTTP/1.1", b"GET http://example%2ecom/ HTTP/1.1",
    b"GET http://example.com%00/ HTTP/1.1",
    b"GET http://2130706433/ HTTP/1.1", b"GET http://0x7f.1/ HTTP/1.1", b"GET http://[::1%25lo]/ HTTP/1.1",
    b"GET  http://example.com/ HTTP/1.1", b"GET http://example.com/  HTTP/1.1", b" GET http://example.com/ HTTP/1.1",
    b"GET http://example.com/ HTTP/1.1 ", b"GET\thttp://example.com/ HTTP/1.1", b"GET http://example.com/\tHTTP/1.1",
    b"GET http://example.com/ x HTTP/1.1", b"GET http://example.com/", b"GET http://example.com/ HTTP/0.9", b"GET",
    b"GET http://example.com/ HTTP/2.0", b"GET http://example.com/ HTTP/1.2", b"GET http://example.com/ HTTP/1.10",
    b"GET http://example.com/ http/1.1", b"GET http://example.com/ HTTP/1.1\x00", b"get http://example.com/ HTTP/1.1",
    b"G\x00T http://example.com/ HTTP/1.1", b"GET http://ex\xc3\xa4mple.com/ HTTP/1.1", b"PRI * HTTP/2.0",
    b"G" * 40 + b" http://example.com/ HTTP/1.1",
    b"CONNECT example.com HTTP/1.1", b"CONNECT example.com:0 HTTP/1.1", b"CONNECT http://example.com:443 HTTP/1.1",
    b"CONNECT example.com:443/ HTTP/1.1", b"CONNECT user@example.com:443 HTTP/1.1",
    b"CONNECT example.com:443@evil.test:443 HTTP/1.1",
    b"CONNECT /example.com:443 HTTP/1.1", b"CONNECT ::1:443 HTTP/1.1", b"CONNECT 0177.0.0.1:443 HTTP/1.1",
    b"CONNECT :443 HTTP/1.1",
    b"CONNECT example.com\x00.evil.test:443 HTTP/1.1", b"CONNECT *.example.com:443 HTTP/1.1",
    b"CONNECT example.com:443,80 HTTP/1.1",
]  # fmt: skip


@pytest.mark.parametrize("line", LINES, ids=ascii)
def test_a_hostile_first_line_is_refused(line: bytes) -> None:
    for headers in (HOST, b"Host: example.com:443\r\n"):
        assert isinstance(parse_request(line + b"\r\n" + headers + END, LIMIT), Refused)


HEADERS = [
    # where the request goes
    b"", b"Host: evil.test\r\n", HOST + HOST, HOST + b"Host: evil.test\r\n", b"Host:\r\n", b"Host: example.com:81\r\n",
    b"Host: example.com, evil.test\r\n", b"Host: user@example.com\r\n", b"Host: example.com/\r\n",
    b"Host: www.example.com\r\n",
    b"Host : example.com\r\n", b" Host: example.com\r\n", b"Host: example.com\x00\r\n",
    b"Host: ex\xc3\xa4mple.com\r\n", b"Host: example.com:\r\n",
    HOST + b"host: example.com\r\n", HOST + b"Connection: host\r\n", HOST + b"Connection: close, Host\r\n",
    # where it ends
    HOST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
    HOST + b"Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
    HOST + b"Content-Length: 1\r\nContent-Length: 1\r\n", HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n",
    HOST + b"Content-Length: 1, 1\r\n", HOST + b"Content-Length: +1\r\n", HOST + b"Content-Length: -1\r\n",
    HOST + b"Content-Length:\r\n",
    HOST + b"Content-Length: 0x1\r\n", HOST + b"Content-Length: 1_0\r\n", HOST + b"Content-Length: 1 0\r\n",
    HOST + b"Content-Length: \xb2\r\n",
    HOST + b"Content-Length: 9999999999999999999\r\n", HOST + b"Content-Length : 1\r\n",
    HOST + b"Content_Length: 1\r\n",
    HOST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    HOST + b"Transfer-Encoding: chunked, identity\r\n",
    HOST + b"Transfer-Encoding: identity\r\n", HOST + b"Transfer-Encoding: gzip, chunked\r\n",
    HOST + b"Transfer-Encoding: xchunked\r\n",
    HOST + b"Transfer-Encoding:\x0bchunked\r\n", HOST + b"Transfer-Encoding: chunked\x00\r\n",
    HOST + b"Transfer-Encoding: \"chunked\"\r\n",
    HOST + b"Transfer-Encoding : chunked\r\n", HOST + b"Transfer_Encoding: chunked\r\n",
    HOST + b"X: 1\r\n Transfer-Encoding: chunked\r\n",
    HOST + b"Transfer-Encoding\r\n", HOST + b"Transfer-Encoding:\r\n chunked\r\n",
    HOST + b"Connection: content-length\r\nContent-Length: 1\r\n",
    HOST + b"Connection: close\r\nConnection: transfer-encoding\r\n",
    # lines
    HOST + b"X: a\r\n\tb\r\n", HOST + b"X: a\nY: b\r\n", HOST + b"X: a\rY: b\r\n", b"Host: example.com\nX: 1\r\n",
    HOST + b"X: a\x00b\r\n", HOST + b"\x00: a\r\n",
    HOST + b": a\r\n", HOST + b"X Y: a\r\n", HOST + b"no colon\r\n", HOST + b"X\xff: a\r\n", HOST + b"X(y): a\r\n",
    HOST + b"X: a\x1fb\r\n", HOST + b"X: a\x7f\r\n",
    HOST + b"Expect: 200-maybe\r\n", HOST + b"Upgrade: a\r\nUpgrade: b\r\n", HOST + b"X: " + b"a" * LIMIT + b"\r\n",
    HOST + b"X: a\r\n" * 300,
]  # fmt: skip


@pytest.mark.parametrize("headers", HEADERS, ids=lambda headers: ascii(headers)[:70])
def test_hostile_headers_are_refused(headers: bytes) -> None:
    assert isinstance(parse_request(GET + headers + END, LIMIT), Refused)


def test_the_tables_are_as_large_as_promised() -> None:
    assert len(set(LINES)) + len(set(HEADERS)) == len(LINES) + len(HEADERS) >= 110


@pytest.mark.parametrize(
    "data",
    [
        GET[:-2] + b"\n" + HOST,
        b"\r\n" + GET + HOST + END,
        b"GET http://example.com/ HTTP/1.1\n",
        b"GET http://example.com/ HTTP/1.1\rX",
        b"A" * (LIMIT + 1),
        b"POST http://example.com/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"CONNECT example.com:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n",
        b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:444\r\n\r\n",
        b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nContent-Length: 1\r\n\r\n",
        b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
    ids=lambda data: ascii(data)[:60],
)
def test_what_is_wrong_is_refused_as_soon_as_it_shows(data: bytes) -> None:
    assert isinstance(parse_request(data, LIMIT), Refused)


@pytest.mark.parametrize("length", range(len(GET + HOST + END)))
def test_a_request_that_has_not_arrived_is_waited_for(length: int) -> None:
    assert isinstance(parse_request((GET + HOST + END)[:length], LIMIT), Incomplete)


def test_the_bytes_of_the_next_request_are_left_alone() -> None:
    data = GET + HOST + END
    found = parse_request(data + b"GET /smuggled", LIMIT)
    assert isinstance(found, Parsed)
    assert found.consumed == len(data)


@pytest.mark.parametrize(
    ("headers", "framing"),
    [
        (b"", Framing("none")),
        (b"Content-Length: 12\r\n", Framing("length", 12)),
        (b"Content-Length: 0\r\n", Framing("length", 0)),
        (b"Transfer-Encoding: Chunked\r\n", Framing("chunked")),
    ],
)
def test_the_end_of_the_body_is_known(headers: bytes, framing: Framing) -> None:
    assert understood(b"POST http://example.com/ HTTP/1.1\r\n" + HOST + headers + END).framing == framing


def test_the_server_gets_a_request_of_our_own_making() -> None:
    sent = (
        b"POST http://example.com:8080/a HTTP/1.1\r\nX-One:  1 \r\n"
        b"Host: EXAMPLE.com:8080\r\nProxy-Authorization: secret\r\n"
        b"Connection: X-Two, Upgrade\r\nX-Two: 2\r\nUpgrade: websocket\r\nTE: trailers\r\nContent-Length: 3\r\n\r\n"
    )
    assert render_request_head(understood(sent)) == (
        b"POST /a HTTP/1.1\r\nhost: example.com:8080\r\nx-one: 1\r\ncontent-length: 3\r\nconnection: close\r\n\r\n"
    )


def test_a_request_inside_a_tunnel_has_a_path_and_the_host_of_the_tunnel() -> None:
    request = understood(b"GET /x HTTP/1.1\r\nHost: example.com\r\n\r\n", TUNNEL)
    assert (request.authority, request.path) == (TUNNEL, "/x")


@pytest.mark.parametrize(
    "data",
    [
        b"GET /x HTTP/1.1\r\nHost: evil.test\r\n\r\n",
        b"GET /x HTTP/1.1\r\nHost: example.com:81\r\n\r\n",
        b"GET /x HTTP/1.1\r\n\r\n",
        b"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
        b"GET http://evil.test/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
        b"GET x HTTP/1.1\r\nHost: example.com\r\n\r\n",
        b"GET /x#y HTTP/1.1\r\nHost: example.com\r\n\r\n",
        b"GET * HTTP/1.1\r\nHost: example.com\r\n\r\n",
        b"CONNECT evil.test:443 HTTP/1.1\r\nHost: example.com\r\n\r\n",
    ],
    ids=ascii,
)
def test_a_request_inside_a_tunnel_that_is_meant_for_elsewhere_is_refused(data: bytes) -> None:
    assert isinstance(parse_request(data, LIMIT, TUNNEL), Refused)


@pytest.mark.parametrize(
    ("data", "keeps"),
    [
        (GET + HOST + END, True),
        (GET + HOST + b"Connection: close\r\n\r\n", False),
        (GET + HOST + b"Proxy-Connection: Close\r\n\r\n", False),
        (b"GET http://example.com/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", False),
    ],
)
def test_whether_another_request_may_follow_is_known(data: bytes, keeps: bool) -> None:
    assert understood(data).keeps_alive is keeps
