"""What a sandbox may use up, what is told about it, and that nothing is left at the end."""

import asyncio
import socket
from contextlib import suppress

import pytest

from skills_runtime.errors import SandboxError, StorageFailed
from skills_runtime.sandbox.egress import EgressLimits, EgressPolicy, EgressPorts, EgressRecord, serve_egress
from tests.e2e.egress.conftest import PATIENCE, Client, Stand, local, open_descriptors, origin, proxied


async def tunnelled(proxy: Stand, port: int) -> Client:
    client = await proxy.connect()
    await client.send(b"CONNECT allowed.test:%d HTTP/1.0\r\n\r\n" % port)
    await client.until(b"\r\n\r\n")
    return client


async def test_a_connection_too_many_waits_for_a_place() -> None:
    async with origin(until=b"never") as server:
        policy = local("allowed.test", server.port, raw="allowed")
        async with proxied(policy, limits=EgressLimits(connections=2)) as proxy:
            first, second = [await tunnelled(proxy, server.port) for _ in range(2)]
            third = asyncio.create_task(tunnelled(proxy, server.port))
            await asyncio.wait([third], timeout=0.2)
            assert not third.done()
            await first.close()
            async with asyncio.timeout(PATIENCE):
                await (await third).close()
            await second.close()


async def test_a_tunnel_in_which_nothing_moves_is_ended() -> None:
    async with origin(until=b"never") as server:
        policy = local("allowed.test", server.port, raw="allowed")
        async with proxied(policy, limits=EgressLimits(idle_seconds=1.0)) as proxy:
            client = await tunnelled(proxy, server.port)
            assert await client.rest() == b""
            await client.close()
            await proxy.wait_for_records(2)
            assert proxy.outcomes[-1] == ("ended", "deny", "limit")


@pytest.mark.parametrize("data", [b"", b"GET http://allowed", b"\x05", b"\x05\x01\x00\x05\x01"])
async def test_a_client_that_says_too_little_is_ended(data: bytes) -> None:
    async with proxied(local("allowed.test", 80), limits=EgressLimits(idle_seconds=0.2)) as proxy:
        assert await proxy.say(data) in (b"", b"\x05\x00")


async def test_a_server_that_never_answers_is_given_up() -> None:
    limits = EgressLimits(idle_seconds=1.0)
    async with origin(until=b"never") as server, proxied(local("allowed.test", server.port), limits=limits) as proxy:
        data = b"allowed.test:%d" % server.port
        await proxy.say(b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (data, data))
        await proxy.wait_for_records(2)
        assert proxy.outcomes[-1][0] == "ended"


async def test_the_bytes_of_a_sandbox_are_limited() -> None:
    async with origin(b"x" * 100_000, until=b"go") as server:
        policy = local("allowed.test", server.port, raw="allowed")
        async with proxied(policy, limits=EgressLimits(total_bytes=50_000)) as proxy:
            client = await tunnelled(proxy, server.port)
            await client.send(b"go")
            assert len(await client.rest()) <= 50_000
            await client.close()
            await proxy.wait_for_records(2)
            assert proxy.outcomes[-1] == ("ended", "deny", "limit")
            refused = await proxy.say(b"CONNECT allowed.test:%d HTTP/1.0\r\n\r\n" % server.port)
            assert refused.startswith(b"HTTP/1.1 429 ")


async def test_the_bytes_that_leave_a_sandbox_are_limited_too() -> None:
    async with origin(until=b"never") as server:
        policy = local("allowed.test", server.port, raw="allowed")
        async with proxied(policy, limits=EgressLimits(total_bytes=50_000)) as proxy:
            client = await tunnelled(proxy, server.port)
            with suppress(ConnectionError):
                await client.send(b"x" * 100_000)
            assert await client.rest() == b""
            await client.close()
            await proxy.wait_for_records(2)
            await server.ended.wait()
            assert proxy.outcomes[-1] == ("ended", "deny", "limit")
            assert len(server.received[0]) <= 50_000


async def test_beyond_so_many_requests_nothing_passes_and_that_is_reported_once() -> None:
    limits = EgressLimits(requests=2)
    async with origin() as server, proxied(local("allowed.test", server.port), limits=limits) as proxy:
        data = b"allowed.test:%d" % server.port
        for _ in range(2):
            await proxy.say(b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (data, data))
        for _ in range(3):
            assert b"limit" in await proxy.say(b"CONNECT %s HTTP/1.0\r\n\r\n" % data)
            await proxy.say(b"\x00 neither HTTP nor SOCKS")
        assert server.connections == 2
        decided = [(record.verdict, record.kind) for record in proxy.records if record.stage == "decided"]
        assert decided == [("allow", ""), ("allow", ""), ("deny", "limit")]


async def test_every_decision_is_reported_with_its_reason_and_its_bytes() -> None:
    async with origin() as server, proxied(local("allowed.test", server.port)) as proxy:
        data = b"allowed.test:%d" % server.port
        await proxy.say(b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (data, data))
        await proxy.say(b"CONNECT evil.test:443 HTTP/1.0\r\n\r\n")
        decided, ended, denied = proxy.records
        rule = f"allowed.test:{server.port}"
        assert decided == EgressRecord(
            number=1, stage="decided", protocol="http", host="allowed.test", port=server.port, verdict="allow",
            reason=f"the rule `{rule}` allows it", by="rule", rule=rule, address="127.0.0.1",
        )  # fmt: skip
        assert (ended.stage, ended.number, ended.bytes_up) == ("ended", 1, len(server.received[0]))
        assert ended.bytes_down > len(b"hello")
        assert denied == EgressRecord(
            number=2, stage="decided", protocol="connect", host="evil.test", port=443, verdict="deny",
            reason="no rule allows it", kind="not_allowed",
        )  # fmt: skip


async def test_a_hostile_host_is_reported_in_harmless_characters() -> None:
    async with proxied(local("allowed.test", 80)) as proxy:
        await proxy.say(b"\x05\x01\x00\x05\x01\x00\x03\x0aevil\x00\x1b[2J.\x01\xbb")
        (record,) = proxy.records
        assert record.host == "evil\\x00\\x1b[2J."
        assert record.kind == "host_invalid"


@pytest.mark.parametrize("error", [StorageFailed("the disk is full"), OSError(28, "the disk is full")])
async def test_what_cannot_be_recorded_does_not_happen(error: Exception) -> None:
    def fails(_record: EgressRecord) -> None:
        raise error

    async with origin() as server:
        answers: list[bytes] = []

        async def ask_for_it() -> None:
            async with proxied(local("allowed.test", server.port), record=fails) as proxy:
                data = b"allowed.test:%d" % server.port
                answers.append(await proxy.say(b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (data, data)))

        with pytest.raises((StorageFailed, SandboxError), match="the disk is full"):
            await ask_for_it()
        assert answers == [b""]
        assert server.connections == 0


async def test_the_end_of_the_proxy_is_the_end_of_every_connection() -> None:
    async with origin(until=b"never") as server:
        policy = local("allowed.test", server.port, raw="allowed")
        async with proxied(policy) as proxy:
            before = open_descriptors()
            clients = [await tunnelled(proxy, server.port) for _ in range(10)]
            idle = await proxy.connect()
        assert [await client.rest() for client in (*clients, idle)] == [b""] * 11
        for client in (*clients, idle):
            await client.close()
        assert [record.stage for record in proxy.records].count("ended") == 10
        assert {record.kind for record in proxy.records if record.stage == "ended"} == {"closed"}
        with pytest.raises(ConnectionRefusedError):
            await proxy.connect()
    assert open_descriptors() <= before


async def test_an_error_in_the_block_is_passed_on_and_ends_the_proxy() -> None:
    proxies: list[Stand] = []

    async def fail() -> None:
        async with proxied(local("allowed.test", 80)) as proxy:
            proxies.append(proxy)
            raise KeyError("theirs")

    with pytest.raises(KeyError):
        await fail()
    with pytest.raises(ConnectionRefusedError):
        await proxies[0].connect()


async def test_many_requests_leave_nothing_behind() -> None:
    async with origin() as server, proxied(local("allowed.test", server.port)) as proxy:
        data = b"allowed.test:%d" % server.port
        request = b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (data, data)
        await proxy.say(request)
        before = open_descriptors()
        for _ in range(10):
            answers = await asyncio.gather(*(proxy.say(request) for _ in range(10)))
            assert all(answer.endswith(b"hello") for answer in answers)
        await proxy.wait_for_records(2 * 101)
        assert open_descriptors() <= before + 2  # what is just being closed
        assert server.connections == 101


async def test_a_connection_is_closed_whenever_the_proxy_ends() -> None:
    for steps in range(12):
        listener = socket.create_server(("127.0.0.1", 0))
        with socket.create_connection(listener.getsockname()) as client:
            ports = EgressPorts(policy=EgressPolicy(), record=lambda _record: None)
            serving = asyncio.create_task(serve_egress(listener, ports))
            for _ in range(steps):
                await asyncio.sleep(0)
            serving.cancel()
            await asyncio.wait([serving])
            listener.close()
            client.settimeout(PATIENCE)
            with suppress(ConnectionResetError):
                assert client.recv(1) == b""
