"""Tunnels: TLS must name the host of the tunnel, HTTP too, and anything else needs a rule that says so."""

import asyncio
import ssl

import httpx2
import pytest

from tests.e2e.egress.conftest import CERTIFICATE, HELLO, Client, Stand, local, origin, proxied
from tests.unit.sandbox.egress.hellos import extension, fragmented, message, real_hello, record, server_name

REQUEST = b"GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n"
ALERT = b"\x15\x03\x01\x00\x02\x02\x31"


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(CERTIFICATE))


async def tunnelled(proxy: Stand, host: str) -> Client:
    client = await proxy.connect()
    await client.send(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert await client.until(b"\r\n\r\n") == b"HTTP/1.1 200 Connection established\r\n\r\n"
    return client


async def test_a_real_client_reaches_an_allowed_host_by_tls() -> None:
    async with origin(tls=True) as server, proxied(local("allowed.test", server.port)) as proxy:
        async with httpx2.AsyncClient(proxy=proxy.url, trust_env=False, verify=trusting()) as client:
            answer = await client.get(f"https://allowed.test:{server.port}/")
        assert (answer.status_code, answer.text) == (200, "hello")
        assert proxy.records[0].protocol == "connect"


async def test_a_real_client_is_refused_a_tunnel_to_another_host() -> None:
    async with origin(tls=True) as server, proxied(local("allowed.test", server.port)) as proxy:
        async with httpx2.AsyncClient(proxy=proxy.url, trust_env=False, verify=trusting()) as client:
            with pytest.raises(httpx2.ProxyError, match="403"):
                await client.get(f"https://other.test:{server.port}/")
        assert server.connections == 0


async def test_a_server_name_other_than_that_of_the_tunnel_is_refused_by_an_alert() -> None:
    async with origin(tls=True) as server, proxied(local("allowed.test", server.port)) as proxy:
        client = await tunnelled(proxy, f"allowed.test:{server.port}")
        with pytest.raises(ssl.SSLError, match=r"(?i)access.denied"):
            await client.writer.start_tls(trusting(), server_hostname="other.test")
        await client.close()
        await proxy.wait_for_records(2)
        assert proxy.outcomes == [("decided", "allow", ""), ("ended", "deny", "name_mismatch")]
        assert "other.test" in proxy.records[-1].reason
        assert proxy.records[-1].bytes_up == 0


HELLOS = {
    "no name": real_hello(None),
    "other name": real_hello("other.test"),
    "other name in pieces": fragmented(real_hello("other.test")[5:], 50),
    "encrypted": record(message(server_name(b"allowed.test"), extension(0xFE0D, bytes(9)))),
    "two names": record(message(server_name(b"allowed.test"), server_name(b"other.test"))),
    "NUL": record(message(server_name(b"allowed.test\0other.test"))),
}


@pytest.mark.parametrize("hello", HELLOS.values(), ids=HELLOS.keys())
async def test_no_byte_of_a_hello_that_names_no_or_another_server_gets_through(hello: bytes) -> None:
    async with origin(until=b"never") as server, proxied(local("allowed.test", server.port)) as proxy:
        client = await tunnelled(proxy, f"allowed.test:{server.port}")
        await client.send(hello)
        assert await client.rest() == ALERT
        await client.close()
        await server.ended.wait()
        assert server.received == [b""]


async def test_a_hello_in_many_records_and_packets_gets_through_unchanged() -> None:
    hello = fragmented(real_hello("allowed.test")[5:], 64)
    async with origin(until=hello) as server, proxied(local("allowed.test", server.port)) as proxy:
        client = await tunnelled(proxy, f"allowed.test:{server.port}")
        for at in range(0, len(hello), 10):
            await client.send(hello[at : at + 10])
            await asyncio.sleep(0)
        assert await client.until(b"hello") == HELLO
        await client.close()
        assert server.received == [hello]


@pytest.mark.parametrize(
    "data", [b"SSH-2.0-x\r\n", b"\0\0\0\0", b"\x80\x2e\x01\x00\x02", b"ehlo x\r\n", b"*1\r\n$4\r\nPING\r\n"]
)
async def test_what_is_neither_tls_nor_http_does_not_get_through(data: bytes) -> None:
    async with origin(until=b"never") as server, proxied(local("allowed.test", server.port)) as proxy:
        client = await tunnelled(proxy, f"allowed.test:{server.port}")
        await client.send(data + b"\r\n\r\n")
        await client.rest()
        await client.close()
        await server.ended.wait()
        await proxy.wait_for_records(2)
        assert server.received == [b""]
        assert proxy.outcomes[-1] == ("ended", "deny", "request_invalid")


async def test_anything_gets_through_where_the_rule_permits_it() -> None:
    async with (
        origin(b"pong", until=b"ping") as server,
        proxied(local("allowed.test", server.port, raw="allowed")) as proxy,
    ):
        client = await tunnelled(proxy, f"allowed.test:{server.port}")
        await client.send(b"\x00ping")
        assert await client.rest() == b"pong"
        await client.close()
        await proxy.wait_for_records(2)
        assert proxy.records[-1].bytes_up == 5
        assert proxy.records[-1].bytes_down == 4


async def test_http_inside_a_tunnel_is_checked_request_by_request() -> None:
    async with origin() as server, proxied(local("allowed.test", server.port)) as proxy:
        location = f"allowed.test:{server.port}"
        client = await tunnelled(proxy, location)
        good = f"GET /1 HTTP/1.1\r\nHost: {location}\r\n\r\n".encode()
        await client.send(good + good.replace(b"/1 ", b"/2 ") + b"GET /3 HTTP/1.1\r\nHost: evil.test\r\n\r\n")
        answer = await client.rest()
        await client.close()
        assert (answer.count(b"200 OK"), answer.count(b"403 Forbidden")) == (2, 1)
        assert [request.split()[1] for request in server.received] == [b"/1", b"/2"]
        await proxy.wait_for_records(2)
        assert proxy.outcomes[-1] == ("ended", "deny", "name_mismatch")


async def test_a_tunnel_ends_for_both_when_one_end_is_cut() -> None:
    async with (
        origin(until=b"never") as server,
        proxied(local("allowed.test", server.port, raw="allowed")) as proxy,
    ):
        client = await tunnelled(proxy, f"allowed.test:{server.port}")
        await client.send(b"x")
        client.writer.transport.abort()
        await server.ended.wait()
        await proxy.wait_for_records(2)
        assert proxy.outcomes[-1][0] == "ended"
