"""A host that no rule speaks of: somebody may be asked."""

import asyncio

import pytest

from skills_runtime.errors import SandboxError
from skills_runtime.ports import Undecided
from skills_runtime.sandbox.egress import EgressLimits, EgressPolicy, egress_policy
from tests.e2e.egress.conftest import local, origin, proxied


class Person:
    """Somebody who always answers the same, when told to."""

    def __init__(self, answer: object, *, at_once: bool = True) -> None:
        self.questions: list[tuple[str, int]] = []
        self.may_answer = asyncio.Event()
        if at_once:
            self.may_answer.set()
        self._answer = answer

    async def __call__(self, host: str, port: int) -> bool:
        self.questions.append((host, port))
        await self.may_answer.wait()
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer  # pyright: ignore[reportReturnType]


def connect(host: str) -> bytes:
    return f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


@pytest.mark.parametrize("answer", [False, None, 1, "yes"])
async def test_everything_but_a_plain_yes_is_a_no(answer: object) -> None:
    person = Person(answer)
    async with proxied(EgressPolicy(), ask=person) as proxy:
        assert (await proxy.say(connect("new.test:443"))).startswith(b"HTTP/1.1 403 ")
        assert proxy.outcomes == [("decided", "deny", "denied")]
        assert person.questions == [("new.test", 443)]


async def test_silence_ends_the_connection_and_passes_for_nobodys_answer() -> None:
    async with proxied(EgressPolicy(), ask=Person(Undecided("no decision within 60 s"))) as proxy:
        assert b"no decision within 60 s" in await proxy.say(connect("new.test:443"))
        (record,) = proxy.records
        assert (record.kind, record.by, record.reason) == ("not_allowed", "default", "no decision within 60 s")


async def test_a_yes_lets_the_host_pass_but_not_into_this_machine() -> None:
    async with proxied(EgressPolicy(), ask=Person(True)) as proxy:
        assert b"address_blocked" in await proxy.say(connect("new.test:443"))
        assert proxy.outcomes == [("decided", "deny", "address_blocked")]


async def test_what_a_rule_or_the_network_decides_is_not_asked_about() -> None:
    person = Person(True)
    async with origin() as server:
        policy = egress_policy(allow=local("allowed.test", server.port).allow, deny=["bad.test"])
        async with proxied(policy, ask=person) as proxy:
            for host in (
                f"allowed.test:{server.port}",
                "bad.test:443",
                "127.0.0.1:22",
                "169.254.169.254:80",
                "0x7f.1:80",
            ):
                client = await proxy.connect()
                await client.send(connect(host))
                await client.until(b"\r\n\r\n")
                await client.close()
        assert person.questions == []


async def test_many_requests_are_one_question_and_the_answer_holds() -> None:
    person = Person(False, at_once=False)
    async with proxied(EgressPolicy(), ask=person) as proxy:
        asking = [asyncio.create_task(proxy.say(connect("new.test:443"))) for _ in range(5)]
        while not person.questions:
            await asyncio.sleep(0)
        person.may_answer.set()
        answers = await asyncio.gather(*asking)
        assert all(answer.startswith(b"HTTP/1.1 403 ") for answer in answers)
        await proxy.say(connect("new.test:443"))
        assert person.questions == [("new.test", 443)]


async def test_another_port_is_another_question() -> None:
    person = Person(False)
    async with proxied(EgressPolicy(), ask=person) as proxy:
        await proxy.say(connect("new.test:443"))
        await proxy.say(connect("new.test:8443"))
        assert person.questions == [("new.test", 443), ("new.test", 8443)]


async def test_hosts_are_not_asked_about_too_often() -> None:
    person = Person(False)
    async with proxied(EgressPolicy(), ask=person, limits=EgressLimits(asks=2)) as proxy:
        for number in range(5):
            assert b"403" in await proxy.say(connect(f"new{number}.test:443"))
        assert len(person.questions) == 2


async def test_a_question_is_withdrawn_with_the_proxy() -> None:
    person = Person(True, at_once=False)
    async with proxied(EgressPolicy(), ask=person) as proxy:
        client = await proxy.connect()
        await client.send(connect("new.test:443"))
        while not person.questions:
            await asyncio.sleep(0)
    assert await client.rest() == b""
    await client.close()
    assert proxy.records == []


@pytest.mark.parametrize("error", [RuntimeError("broken"), OSError("broken")])
async def test_a_question_that_fails_ends_the_proxy_and_is_reported(error: Exception) -> None:
    answers: list[bytes] = []

    async def ask() -> None:
        async with proxied(EgressPolicy(), ask=Person(error)) as proxy:
            answers.append(await proxy.say(connect("new.test:443")))
            with pytest.raises(ConnectionRefusedError):
                await proxy.connect()

    with pytest.raises((RuntimeError, SandboxError), match="broken"):
        await ask()
    assert answers == [b""]
