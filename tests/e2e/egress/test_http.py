"""Plain HTTP through the proxy: every request is checked, written anew, and answered."""

import httpx2
import pytest

from tests.e2e.egress.conftest import local, origin, proxied


def get(host: str, path: str = "/", *lines: bytes) -> bytes:
    first = f"GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n".encode()
    return first + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


async def test_a_real_client_reaches_an_allowed_host() -> None:
    async with origin() as server, proxied(local("allowed.test", server.port)) as proxy:
        async with httpx2.AsyncClient(proxy=proxy.url, trust_env=False) as client:
            answer = await client.get(f"http://allowed.test:{server.port}/a?b=c")
        assert (answer.status_code, answer.text, answer.headers["x-from"]) == (200, "hello", "server")
        assert server.received[0].startswith(b"GET /a?b=c HTTP/1.1\r\nhost: allowed.test:%d\r\n" % server.port)
        assert b"connection: close" in server.received[0]


async def test_a_real_client_is_told_why_it_is_refused() -> None:
    async with origin() as server, proxied(local("allowed.test", server.port)) as proxy:
        async with httpx2.AsyncClient(proxy=proxy.url, trust_env=False) as client:
            answer = await client.get(f"http://other.test:{server.port}/")
        assert (answer.status_code, answer.headers["x-proxy-error"]) == (403, "not_allowed")
        assert "no rule allows it" in answer.text
        assert server.connections == 0


async def test_every_request_on_a_connection_is_checked_anew() -> None:
    async with origin() as server, proxied(local("allowed.test", server.port)) as proxy:
        allowed, other = f"allowed.test:{server.port}", f"other.test:{server.port}"
        answer = await proxy.say(get(allowed, "/1") + get(allowed, "/2") + get(other, "/3") + get(allowed, "/4"))
        assert (answer.count(b"200 OK"), answer.count(b"403 Forbidden")) == (2, 1)
        assert [record.number for record in proxy.records] == [1, 1, 2, 2, 3]
        assert [request.split()[1] for request in server.received] == [b"/1", b"/2"]


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_arrives_whole(chunked: bool) -> None:
    body = bytes(range(256)) * 2000
    async with origin(until=b"END") as server, proxied(local("allowed.test", server.port)) as proxy:

        async def pieces():
            for at in range(0, len(body), 70_000):
                yield body[at : at + 70_000]
            yield b"END"

        async with httpx2.AsyncClient(proxy=proxy.url, trust_env=False) as client:
            content = pieces() if chunked else body + b"END"
            answer = await client.post(f"http://allowed.test:{server.port}/", content=content)
        assert answer.text == "hello"
        received = server.received[0].partition(b"\r\n\r\n")[2]
        assert (b"transfer-encoding: chunked" in server.received[0]) == chunked
        assert len(received) >= len(body)
        assert chunked or received == body + b"END"


ANSWERS = {
    "length": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
    "chunked": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", b"hello"),
    "until close": (b"HTTP/1.1 200 OK\r\n\r\nhello", b"hello"),
    "interim": (b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
    "nothing": (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
}


@pytest.mark.parametrize(("sent", "body"), ANSWERS.values(), ids=ANSWERS.keys())
async def test_an_answer_arrives_whole_however_it_ends(sent: bytes, body: bytes) -> None:
    async with origin(sent) as server, proxied(local("allowed.test", server.port)) as proxy:
        async with httpx2.AsyncClient(proxy=proxy.url, trust_env=False) as client:
            answer = await client.get(f"http://allowed.test:{server.port}/")
        assert answer.content == body


async def test_an_old_client_gets_a_body_without_chunks() -> None:
    sent = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    async with origin(sent) as server, proxied(local("allowed.test", server.port)) as proxy:
        answer = await proxy.say(b"GET http://allowed.test:%d/ HTTP/1.0\r\n\r\n" % server.port)
    assert answer.endswith(b"\r\n\r\nhello")
    assert b"chunked" not in answer


BAD_ANSWERS = {
    "no HTTP": b"SSH-2.0-x\r\n\r\n",
    "nothing": b"",
    "upgrade": b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "endless interim": b"HTTP/1.1 100 Continue\r\n\r\n" * 9,
}


@pytest.mark.parametrize("sent", BAD_ANSWERS.values(), ids=BAD_ANSWERS.keys())
async def test_an_answer_that_cannot_be_used_is_an_error_of_the_gateway(sent: bytes) -> None:
    async with origin(sent) as server, proxied(local("allowed.test", server.port)) as proxy:
        answer = await proxy.say(get(f"allowed.test:{server.port}"))
        assert answer.startswith(b"HTTP/1.1 502 ")
        assert proxy.outcomes == [("decided", "allow", ""), ("ended", "allow", "unreachable")]


async def test_an_answer_that_breaks_off_breaks_off_for_the_client_too() -> None:
    sent = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    async with origin(sent) as server, proxied(local("allowed.test", server.port)) as proxy:
        answer = await proxy.say(get(f"allowed.test:{server.port}"))
    assert answer.endswith(b"5\r\nhello\r\n")


SMUGGLING = {
    "length and chunks": (b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", b"0\r\n\r\nGET /smuggled"),
    "two lengths": (b"Content-Length: 0\r\nContent-Length: 9\r\n\r\n", b"GET /smug"),
    "folded": (b"X: 1\r\n Transfer-Encoding: chunked\r\n\r\n", b"0\r\n\r\n"),
    "bare line feed": (b"X: 1\nTransfer-Encoding: chunked\r\n\r\n", b"0\r\n\r\n"),
    "space before colon": (b"Transfer-Encoding : chunked\r\n\r\n", b"0\r\n\r\n"),
    "odd coding": (b"Transfer-Encoding: xchunked\r\n\r\n", b"0\r\n\r\n"),
    "second host": (b"Host: other.test\r\n\r\n", b""),
    "huge": (b"X: " + b"a" * 40_000 + b"\r\n\r\n", b""),
}


@pytest.mark.parametrize(("head", "body"), SMUGGLING.values(), ids=SMUGGLING.keys())
async def test_nothing_of_a_smuggling_request_reaches_the_server(head: bytes, body: bytes) -> None:
    async with origin() as server, proxied(local("allowed.test", server.port)) as proxy:
        data = b"allowed.test:%d" % server.port
        answer = await proxy.say(b"POST http://%s/ HTTP/1.1\r\nHost: %s\r\n" % (data, data) + head + body)
        assert answer.split()[1] in (b"400", b"429")
        assert server.connections == 0
        assert [record.verdict for record in proxy.records] == ["deny"]


@pytest.mark.parametrize("body", [b"5;x=y\r\nhello\r\n0\r\n\r\n", b"5\nhello", b"5\r\nhelloX", b"0\r\nHost: x\r\n\r\n"])
async def test_a_body_that_is_not_what_it_says_never_ends_for_the_server(body: bytes) -> None:
    async with origin(until=b"0\r\n\r\n") as server, proxied(local("allowed.test", server.port)) as proxy:
        data = b"allowed.test:%d" % server.port
        head = b"POST http://%s/ HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n" % (data, data)
        answer = await proxy.say(head + body)
        assert answer.startswith(b"HTTP/1.1 400 ")
        await server.ended.wait()
        assert not server.received[0].endswith(b"0\r\n\r\n")
        assert proxy.outcomes[-1] == ("ended", "deny", "request_invalid")


async def test_a_client_that_waits_for_permission_gets_it() -> None:
    async with origin(until=b"body") as server, proxied(local("allowed.test", server.port)) as proxy:
        client = await proxy.connect()
        data = b"allowed.test:%d" % server.port
        head = b"POST http://%s/ HTTP/1.1\r\nHost: %s\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
        await client.send(head % (data, data))
        assert await client.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await client.send(b"body")
        assert b"200 OK" in await client.until(b"hello")
        await client.close()
        assert b"expect" not in server.received[0]


async def test_a_host_header_that_names_another_host_is_refused() -> None:
    async with origin() as server, proxied(local("allowed.test", server.port)) as proxy:
        answer = await proxy.say(b"GET http://allowed.test:%d/ HTTP/1.1\r\nHost: evil.test\r\n\r\n" % server.port)
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert proxy.outcomes == [("decided", "deny", "name_mismatch")]
        assert server.connections == 0


async def test_a_large_request_that_is_refused_still_gets_its_answer() -> None:
    async with proxied(local("allowed.test", 80)) as proxy:
        head = b"POST http://other.test/ HTTP/1.1\r\nHost: other.test\r\nContent-Length: 500000\r\n\r\n"
        assert (await proxy.say(head + b"x" * 500_000)).startswith(b"HTTP/1.1 403 ")
