"""SOCKS5 through the proxy, by raw sockets."""

import pytest

from tests.e2e.egress.conftest import HELLO, Client, Stand, local, origin, proxied
from tests.unit.sandbox.egress.hellos import real_hello

GREETING = b"\x05\x01\x00"
SUCCEEDED = b"\x05\x00\x00\x01" + bytes(6)


def connect_request(name: str, port: int) -> bytes:
    return b"\x05\x01\x00\x03" + bytes((len(name),)) + name.encode() + port.to_bytes(2, "big")


async def greeted(proxy: Stand) -> Client:
    client = await proxy.connect()
    await client.send(GREETING)
    assert await client.exactly(2) == b"\x05\x00"
    return client


async def test_http_gets_through_for_the_right_host() -> None:
    async with origin() as server, proxied(local("allowed.test", server.port)) as proxy:
        client = await greeted(proxy)
        await client.send(connect_request("allowed.test", server.port))
        assert await client.exactly(10) == SUCCEEDED
        await client.send(f"GET /x HTTP/1.1\r\nHost: allowed.test:{server.port}\r\nConnection: close\r\n\r\n".encode())
        assert (await client.rest()).endswith(b"hello")
        await client.close()
        records = await proxy.wait_for_records(2)
        assert {record.protocol for record in records} == {"socks5"}
        assert server.received[0].startswith(b"GET /x HTTP/1.1\r\n")


async def test_tls_gets_through_for_the_right_server_only() -> None:
    hello = real_hello("allowed.test")
    async with origin(until=hello) as server, proxied(local("allowed.test", server.port)) as proxy:
        for name, answer in (("allowed.test", HELLO), ("other.test", b"\x15\x03\x01\x00\x02\x02\x31")):
            client = await greeted(proxy)
            await client.send(connect_request("allowed.test", server.port))
            assert await client.exactly(10) == SUCCEEDED
            await client.send(hello if name == "allowed.test" else real_hello(name))
            assert await client.exactly(len(answer)) == answer
            await client.close()
        assert [got for got in server.received if got] == [hello]


async def test_an_address_is_reached_when_a_rule_names_it() -> None:
    async with (
        origin(b"pong", until=b"ping") as server,
        proxied(local("127.0.0.1", server.port, raw="allowed")) as proxy,
    ):
        client = await greeted(proxy)
        await client.send(b"\x05\x01\x00\x01\x7f\0\0\x01" + server.port.to_bytes(2, "big") + b"ping")
        assert await client.rest() == SUCCEEDED + b"pong"
        await client.close()


REFUSED = {
    "other host": (connect_request("other.test", 443), 2),
    "this machine": (b"\x05\x01\x00\x01\x7f\0\0\x01\0\x16", 2),
    "metadata": (b"\x05\x01\x00\x01\xa9\xfe\xa9\xfe\0\x50", 2),
    "mapped": (b"\x05\x01\x00\x04" + bytes(10) + b"\xff\xff\x7f\0\0\x01\0\x50", 2),
    "NUL": (connect_request("allowed.test\0.evil.test", 443), 8),
    "odd address": (connect_request("0x7f.1", 443), 8),
    "listening": (b"\x05\x02\x00\x01\x7f\0\0\x01\0\x16", 1),
    "datagrams": (b"\x05\x03\x00\x01\x7f\0\0\x01\0\x16", 1),
}


@pytest.mark.parametrize(("request_", "code"), REFUSED.values(), ids=REFUSED.keys())
async def test_anything_else_is_refused_with_a_code_and_a_record(request_: bytes, code: int) -> None:
    async with proxied(local("allowed.test", 443)) as proxy:
        client = await greeted(proxy)
        await client.send(request_)
        assert (await client.rest())[:2] == bytes((5, code))
        await client.close()
        assert [record.verdict for record in proxy.records] == ["deny"]


async def test_a_client_that_insists_on_a_login_is_told_that_there_is_none() -> None:
    async with proxied(local("allowed.test", 443)) as proxy:
        assert await proxy.say(b"\x05\x01\x02") == b"\x05\xff"


@pytest.mark.parametrize("data", [b"\x04\x01\x00\x50\x7f\0\0\x01\0", b"\x16\x03\x01", b"\0", b"get / http/1.1\r\n\r\n"])
async def test_another_protocol_is_not_answered_at_all(data: bytes) -> None:
    async with proxied(local("allowed.test", 443)) as proxy:
        assert await proxy.say(data) == b""
        assert proxy.outcomes == [("decided", "deny", "request_invalid")]
