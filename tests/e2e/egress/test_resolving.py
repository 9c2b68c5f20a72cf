"""Names are looked up once, and only what was checked is connected to."""

from collections.abc import Sequence
from contextlib import AsyncExitStack

import pytest

from skills_runtime.sandbox.egress import EgressPolicy, allow_rule, egress_policy
from tests.e2e.egress.conftest import local, origin, proxied


class Answers:
    """A resolver that answers each question in turn, the last answer again and again."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.asked: list[tuple[str, int]] = []
        self._answers = answers

    async def __call__(self, name: str, port: int) -> Sequence[str]:
        self.asked.append((name, port))
        return self._answers[min(len(self.asked), len(self._answers)) - 1]


def get(port: int) -> bytes:
    return (
        f"GET http://allowed.test:{port}/ HTTP/1.1\r\nHost: allowed.test:{port}\r\nConnection: close\r\n\r\n".encode()
    )


async def test_a_name_is_looked_up_once_and_its_address_kept() -> None:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(origin())
        resolve = Answers(["127.0.0.1"], ["127.0.0.2"])
        proxy = await stack.enter_async_context(proxied(local("allowed.test", server.port), resolve=resolve))
        assert b"200 OK" in await proxy.say(get(server.port))
        assert resolve.asked == [("allowed.test", server.port)]
        assert proxy.records[0].address == "127.0.0.1"


async def test_a_name_that_changes_to_an_inner_address_between_requests_is_refused() -> None:
    async with origin() as server:
        resolve = Answers(["127.0.0.1"], ["169.254.169.254"])
        async with proxied(local("allowed.test", server.port), resolve=resolve) as proxy:
            assert b"200 OK" in await proxy.say(get(server.port))
            assert b"address_blocked" in await proxy.say(get(server.port))
            assert server.connections == 1


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "fd00:ec2::254", "100.64.0.1", "0.0.0.0", "::ffff:127.0.0.1",
     "64:ff9b::7f00:1", "2002:7f00:1::", "224.0.0.1", "fe80::1"],
)  # fmt: skip
async def test_a_name_that_leads_inside_is_refused_without_a_connection(address: str) -> None:
    async with origin() as server:
        policy = EgressPolicy(allow=(allow_rule(f"allowed.test:{server.port}"),))
        async with proxied(policy, resolve=Answers([address])) as proxy:
            answer = await proxy.say(get(server.port))
            assert answer.startswith(b"HTTP/1.1 403 ")
            assert proxy.outcomes == [("decided", "deny", "address_blocked")]
            assert server.connections == 0


async def test_addresses_that_must_not_be_reached_are_left_out() -> None:
    async with origin() as server:
        resolve = Answers(["169.254.169.254", "fe80::1%lo", "no address", "127.0.0.1"])
        async with proxied(local("allowed.test", server.port), resolve=resolve) as proxy:
            assert b"200 OK" in await proxy.say(get(server.port))
            assert proxy.records[0].address == "127.0.0.1"


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    async with origin(host="127.0.0.1") as server:
        resolve = Answers(["127.0.0.77", "127.0.0.1"])
        async with proxied(local("allowed.test", server.port), resolve=resolve) as proxy:
            assert b"200 OK" in await proxy.say(get(server.port))
            assert [record.address for record in proxy.records] == ["127.0.0.77", "127.0.0.1"]


async def test_a_denied_address_is_denied_under_an_allowed_name() -> None:
    async with origin() as server:
        allow = allow_rule(f"allowed.test:{server.port}", private="allowed")
        policy = egress_policy(allow=[allow], deny=["127.0.0.1"])
        async with proxied(policy) as proxy:
            assert (await proxy.say(get(server.port))).startswith(b"HTTP/1.1 403 ")
            assert proxy.outcomes == [("decided", "deny", "denied")]


async def test_a_host_that_is_refused_is_not_even_looked_up() -> None:
    resolve = Answers(["127.0.0.1"])
    async with proxied(egress_policy(deny=["allowed.test"]), resolve=resolve) as proxy:
        await proxy.say(get(80))
        await proxy.say(b"CONNECT secret-in-a-name.evil.test:443 HTTP/1.0\r\n\r\n")
        assert resolve.asked == []


@pytest.mark.parametrize("answer", [[], ["no address"], ["fe80::1%lo"]])
async def test_a_name_without_an_address_is_unreachable(answer: list[str]) -> None:
    async with proxied(local("allowed.test", 80), resolve=Answers(answer)) as proxy:
        assert (await proxy.say(get(80))).startswith(b"HTTP/1.1 502 ")


async def test_a_name_that_cannot_be_resolved_is_unreachable() -> None:
    async def fails(_name: str, _port: int) -> Sequence[str]:
        raise OSError(-2, "Name or service not known")

    async with proxied(local("allowed.test", 80), resolve=fails) as proxy:
        assert (await proxy.say(get(80))).startswith(b"HTTP/1.1 502 ")
        assert proxy.outcomes == [("decided", "deny", "unreachable")]


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    async with origin() as server:
        port = server.port
    async with proxied(local("allowed.test", port)) as proxy:
        assert (await proxy.say(get(port))).startswith(b"HTTP/1.1 502 ")
        assert proxy.outcomes == [("decided", "allow", ""), ("ended", "allow", "unreachable")]


async def test_without_a_resolver_of_its_own_the_proxy_asks_the_system() -> None:
    async with origin() as server, proxied(local("localhost", server.port), resolve=None) as proxy:
        assert b"200 OK" in await proxy.say(get(server.port).replace(b"allowed.test", b"localhost"))
