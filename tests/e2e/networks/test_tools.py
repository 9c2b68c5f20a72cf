"""Tools whose commands reach the hosts on the allow-list and nothing else; every decision is recorded with its call."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.errors import LogEnded, SandboxError, ValidationFailed
from skills_runtime.events import Payload
from skills_runtime.ports import Tool, ToolResult
from skills_runtime.sandbox.egress.gateway import stage_source
from skills_runtime.tools.builtin import Shell, ShellCommand, ShellExec
from tests.e2e.networks.conftest import DIRECT, PATIENCE, VISIT, Web, decisions, networked, open_descriptors, told
from tests.support.tools import Workshop, data_of
from tests.support.users import Unprivileged

PYTHON = "/usr/bin/python3"
SECRET = "hunter2-very-secret"


def visit(*urls: str) -> dict[str, Any]:
    return {"argv": [PYTHON, "-I", "-c", VISIT, *urls], "timeout_ms": 60_000}


async def run(workshop: Workshop, *urls: str, **more: Any) -> ToolResult:
    return await workshop.call(ShellExec(), **{**visit(*urls), **more})


@pytest.fixture(params=["as the owner of the tests", "without rights"])
def somebody(request: pytest.FixtureRequest, unprivileged: Unprivileged) -> Callable[..., Any]:
    """Runs a coroutine in a place of its own, as whoever runs the tests or as an ordinary user."""
    stage_source()  # a checkout may be readable for its owner only, an installation is not

    def call(work: Callable[[Path], Coroutine[None, None, Any]]) -> Any:
        if request.param == "without rights":
            return unprivileged(lambda: asyncio.run(work(unprivileged.path)))
        return asyncio.run(work(request.getfixturevalue("tmp_path")))

    return call


def test_a_command_reaches_what_is_allowed_and_nothing_else(web: Web, somebody: Callable[..., Any]) -> None:
    async def work(place: Path) -> Any:
        workshop = networked(place, allow_private=[f"good.test:{web.port}"])
        result = await run(workshop, web.url("good.test"), web.url("evil.test"), web.url("127.0.0.2"))
        return result.stdout.splitlines(), result.stderr, told(workshop)

    lines, errors, heard = somebody(work)
    assert lines == ["hello", "403 not_allowed", "403 address_blocked"], errors
    assert heard == [
        ("allow", "good.test", ""),
        ("deny", "evil.test", "not_allowed"),
        ("deny", "127.0.0.2", "address_blocked"),
    ]


async def test_there_is_no_way_around_the_proxy(web: Web, tmp_path: Path) -> None:
    workshop = networked(tmp_path, allow=[f"127.0.0.2:{web.port}"])
    result = await workshop.call(ShellExec(), argv=[PYTHON, "-I", "-c", DIRECT, "127.0.0.2", str(web.port)])
    assert (result.stdout, web.visits, decisions(workshop)) == ("no way\n", [], [])
    assert (await run(workshop, web.url("127.0.0.2"))).stdout == "hello\n"


@pytest.mark.parametrize(("tool", "name"), [(ShellExec(), "argv"), (Shell(), "command"), (ShellCommand(), "command")])
async def test_every_tool_that_starts_a_program_has_the_network(
    tool: Tool, name: str, web: Web, tmp_path: Path
) -> None:
    workshop = networked(tmp_path, allow_private=[f"good.test:{web.port}"])
    workshop.write("visit.py", VISIT)
    words = [PYTHON, "-I", "visit.py", web.url("good.test")]
    result = await tool.invoke({name: " ".join(words) if isinstance(tool, ShellCommand) else words}, workshop)
    assert result.stdout == "hello\n", result.stderr
    assert data_of(result)["sandbox"]["network"]["allowed"] == 1


async def test_a_decision_is_recorded_with_its_call_and_summed_up_in_its_result(web: Web, tmp_path: Path) -> None:
    workshop = networked(tmp_path, allow_private=[f"good.test:{web.port}"])
    result = await run(workshop, web.url("good.test"), web.url("evil.test"))
    decided, ended, denied = decisions(workshop)
    assert (decided.call_id, decided.number, decided.stage, decided.by) == (workshop.call_id, 1, "decided", "rule")
    assert (decided.address, decided.rule) == ("127.0.0.2", f"good.test:{web.port}")
    assert (ended.number, ended.stage, ended.bytes_down > 5, ended.bytes_up > 5) == (1, "ended", True, True)
    assert (denied.verdict, denied.by, denied.reason) == ("deny", "default", "no rule allows it")
    network = data_of(result)["sandbox"]["network"]
    assert {name: network[name] for name in ("mode", "allowed", "denied", "asked")} == {
        "mode": "allow-list",
        "allowed": 1,
        "denied": 1,
        "asked": 0,
    }
    assert network["bytes_down"] == ended.bytes_down
    assert [(one["host"], one["verdict"], one["requests"]) for one in network["hosts"]] == [
        ("good.test", "allow", 1),
        ("evil.test", "deny", 1),
    ]


async def test_a_denial_wins(web: Web, tmp_path: Path) -> None:
    rule = f"good.test:{web.port}"
    workshop = networked(tmp_path, allow_private=[rule], deny=["good.test"])
    assert (await run(workshop, web.url("good.test"))).stdout == "403 denied\n"
    assert web.visits == []


async def test_addresses_and_headers_of_a_request_are_never_recorded(web: Web, tmp_path: Path) -> None:
    workshop = networked(tmp_path, allow_private=[f"good.test:{web.port}"])
    code = (
        "import sys, urllib.request\n"
        "request = urllib.request.Request(sys.argv[1], headers={'Authorization': sys.argv[2]})\n"
        "print(urllib.request.urlopen(request, timeout=20).read())"
    )
    page = web.url("good.test", f"x?token={SECRET}")
    result = await workshop.call(ShellExec(), argv=[PYTHON, "-I", "-c", code, page, f"Bearer {SECRET}"])
    assert result.ok, result.stderr
    assert web.visits == [f"/x?token={SECRET}"]
    assert SECRET.encode() not in msgspec.json.encode([decisions(workshop), result.data])


async def test_without_an_allow_list_there_is_no_network_and_no_proxy(web: Web, tmp_path: Path) -> None:
    workshop = networked(tmp_path)
    result = await run(workshop, web.url("good.test"))
    assert (result.stdout, decisions(workshop)) == ("no way\n", [])
    assert data_of(result)["sandbox"]["network"] == "none"


async def test_a_rule_that_cannot_be_used_starts_nothing(tmp_path: Path) -> None:
    workshop = networked(tmp_path, allow=["a..b"])
    with pytest.raises(ValidationFailed, match="not a host for a rule"):
        await workshop.call(ShellExec(), argv=["/usr/bin/touch", "ran"])
    assert workshop.contents() == {}


async def test_a_host_that_no_rule_names_is_asked_about(web: Web, tmp_path: Path) -> None:
    workshop = networked(tmp_path, allow_private=[f"good.test:{web.port}"], unknown="ask")
    result = await run(workshop, web.url("good.test"), web.url("new.test"), web.url("new.test"))
    assert result.stdout.splitlines() == ["hello", "403 denied", "403 denied"]
    assert workshop.wanted_hosts == [f"new.test:{web.port}"]
    assert data_of(result)["sandbox"]["network"]["asked"] == 2


async def test_a_yes_to_a_host_does_not_open_private_networks(web: Web, tmp_path: Path) -> None:
    workshop = networked(tmp_path, unknown="ask")
    workshop.may_be_reached = {f"new.test:{web.port}"}
    assert (await run(workshop, web.url("new.test"))).stdout == "403 address_blocked\n"
    assert [(one.by, one.kind) for one in decisions(workshop)] == [("person", "address_blocked")]


async def test_hosts_are_not_asked_about_by_default(web: Web, tmp_path: Path) -> None:
    workshop = networked(tmp_path, allow_private=[f"good.test:{web.port}"])
    await run(workshop, web.url("new.test"))
    assert workshop.wanted_hosts == []


async def test_a_decision_that_cannot_be_recorded_ends_the_command(web: Web, tmp_path: Path) -> None:
    workshop = networked(tmp_path, allow_private=[f"good.test:{web.port}"])

    def refuse(payload: Payload) -> None:
        raise LogEnded("nothing may follow")

    workshop.emit = refuse
    code = f"{VISIT}\nimport time; time.sleep(60); open('late', 'w')"
    with pytest.raises(LogEnded):
        async with asyncio.timeout(PATIENCE):
            await workshop.call(ShellExec(), argv=[PYTHON, "-I", "-c", code, web.url("good.test")])
    assert (web.visits, workshop.contents()) == ([], {})


async def test_two_calls_at_once_have_separate_networks_and_records(web: Web, tmp_path: Path) -> None:
    one = networked(tmp_path / "one", allow_private=[f"one.test:{web.port}"])
    two = networked(tmp_path / "two", allow_private=[f"two.test:{web.port}"])
    urls = (web.url("one.test"), web.url("two.test"))
    first, second = await asyncio.gather(run(one, *urls), run(two, *urls))
    assert first.stdout.splitlines() == ["hello", "403 not_allowed"]
    assert second.stdout.splitlines() == ["403 not_allowed", "hello"]
    assert told(one) == [("allow", "one.test", ""), ("deny", "two.test", "not_allowed")]
    assert told(two) == [("deny", "one.test", "not_allowed"), ("allow", "two.test", "")]


async def test_a_sandbox_that_fails_before_its_network_is_reported_as_such(tmp_path: Path) -> None:
    workshop = networked(tmp_path, allow=["good.test"])
    plan = workshop.sandbox.plan

    class Broken:
        def plan(self, request: Any) -> Any:
            made = plan(request)
            return msgspec.structs.replace(made, argv=(*made.argv[:1], "--no-such-option", *made.argv[1:]))

    workshop.sandbox = Broken()
    before = open_descriptors()
    with pytest.raises(SandboxError, match=r"ended before it had a network.*no-such-option"):
        await workshop.call(ShellExec(), argv=["/usr/bin/true"])
    assert len(open_descriptors() - before) <= 8, "there are more than the launcher and its idle supervisors"
