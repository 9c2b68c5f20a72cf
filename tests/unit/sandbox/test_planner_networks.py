"""From settings and policies to the network of a command: which fences can give one, and what the plan says of it."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.config.models import SandboxSettings
from skills_runtime.errors import SandboxError, ValidationFailed
from skills_runtime.ports import Egress, ProcessRequest, SandboxPlan
from skills_runtime.sandbox import OsSandbox, build_policy, build_sandbox, find_adapters
from skills_runtime.sandbox.egress import PROXY_PORT, proxy_variables
from skills_runtime.sandbox.egress.gateway import build_stage_command, compile_egress, stage_source
from skills_runtime.sandbox.landlock import Landlock
from skills_runtime.sandbox.machine import Machine
from skills_runtime.sandbox.planner import find_egress, wrap_with_network
from skills_runtime.sandbox.policy import Gap
from skills_runtime.sandbox.protected_paths import Findings
from skills_runtime.sandbox.seatbelt import Seatbelt
from tests.unit.sandbox.test_bubblewrap import FINDINGS, INNER, MACHINE

EGRESS = Egress(allow=("good.test",))


def planned(place: Path, **egress: Any) -> SandboxPlan:
    settings = SandboxSettings.model_validate({"egress": egress})
    return build_sandbox(settings, workspace=place, variables={}).plan(
        ProcessRequest(argv=("true",), cwd=place.resolve())
    )


@pytest.mark.parametrize("egress", [{}, {"deny": ["bad.test"]}])
def test_settings_that_allow_nothing_mean_no_network(tmp_path: Path, egress: dict[str, Any]) -> None:
    plan = planned(tmp_path, **egress)
    assert (plan.egress, plan.evidence["profile"], plan.evidence["network"]) == (None, "workspace-write", "none")


@pytest.mark.parametrize("egress", [{"allow": ["good.test"]}, {"allow_private": ["good.test"]}, {"unknown": "ask"}])
def test_settings_that_allow_something_mean_an_allow_list(tmp_path: Path, egress: dict[str, Any]) -> None:
    plan = planned(tmp_path, **egress)
    assert plan.egress is not None
    assert (plan.evidence["profile"], plan.evidence["network"]) == ("workspace-net", "allow-list")
    assert "network" in plan.evidence["promises"]
    assert {name: plan.evidence["egress"][name] for name in egress} == egress


def test_every_change_of_the_list_is_another_policy(tmp_path: Path) -> None:
    lists: list[dict[str, Any]] = [
        {"allow": ["a.test"]},
        {"allow": ["a.test", "b.test"]},
        {"allow": ["a.test"], "deny": ["b.test"]},
        {"allow": ["a.test"], "unknown": "ask"},
        {"allow_private": ["a.test"]},
    ]
    assert len({planned(tmp_path, **one).evidence["policy"] for one in lists}) == len(lists)


def test_the_program_that_waits_for_the_proxy_is_an_input_of_the_fence(tmp_path: Path) -> None:
    plan = planned(tmp_path, allow=["good.test"])
    *_, source = plan.setup.inputs
    assert source == stage_source()
    number = plan.setup.next_descriptor
    assert plan.argv[-3:] == (str(number), str(PROXY_PORT), "true")
    assert f"os.read({number - 1}," in plan.argv[-4]


def test_the_variables_of_the_proxy_give_way_to_those_asked_for(tmp_path: Path) -> None:
    policy = msgspec.structs.replace(build_policy("workspace-net", tmp_path.resolve()), egress=EGRESS)
    fence = OsSandbox(policy, find_adapters("bubblewrap"), {})
    request = ProcessRequest(argv=("true",), cwd=tmp_path.resolve(), environment={"NO_PROXY": "mine"})
    options = fence.explain(request)[1].options
    given = {options[place + 1]: options[place + 2] for place, word in enumerate(options) if word == "--setenv"}
    assert given.items() >= {**proxy_variables(), "NO_PROXY": "mine"}.items()


@pytest.mark.parametrize("adapter", [Landlock(), Seatbelt()])
def test_a_fence_without_networks_of_its_own_cannot_keep_an_allow_list(adapter: Any) -> None:
    policy = build_policy("workspace-net", Path("/project"))
    broken = {gap.promise for gap in adapter.gaps(policy, MACHINE, Findings()) if not gap.partial}
    assert "network" in broken
    closed = build_policy("workspace-write", Path("/project"))
    assert "network" not in {gap.promise for gap in adapter.gaps(closed, MACHINE, Findings())}


def test_without_the_guarantee_there_is_no_network_at_all() -> None:
    policy = msgspec.structs.replace(build_policy("workspace-net", Path("/project")), egress=EGRESS)
    assert find_egress(policy) == EGRESS
    assert find_egress(policy, (Gap(promise="network", text="no"),)) is None


def test_without_a_python_inside_the_promise_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skills_runtime.sandbox.egress.gateway.INTERPRETERS", ("/no/such/python3",))
    machine: Machine = msgspec.structs.replace(MACHINE, interpreter=None)
    (adapter,) = find_adapters("bubblewrap")
    with pytest.raises(SandboxError, match="cannot promise `network`") as refused:
        wrap_with_network(adapter, build_policy("workspace-net", Path("/project")), machine, FINDINGS, INNER)
    assert refused.value.hint == "install `python3`"


def test_the_command_line_says_where_to_read_and_where_to_talk() -> None:
    words = build_stage_command(("make", "all"), "/usr/bin/python3", source=7, port=99)
    assert words[:4] == ("/usr/bin/python3", "-I", "-S", "-c")
    assert words[-4:] == ("8", "99", "make", "all")


def test_rules_are_read_as_people_write_them() -> None:
    policy = compile_egress(Egress(allow=("*.a.test",), allow_private=("b.test:5432",), deny=("c.test",)))
    assert [(rule.text, rule.private) for rule in policy.allow] == [
        ("*.a.test:80,443", "refused"),
        ("b.test:5432", "allowed"),
    ]
    assert [rule.text for rule in policy.deny] == ["c.test:*"]
    with pytest.raises(ValidationFailed):
        compile_egress(Egress(allow=("*",)))
