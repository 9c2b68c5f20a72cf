"""skill_exec: which actions run, with which environment, and what stands in their way."""

import asyncio
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.errors import SandboxError, ToolError
from skills_runtime.ports import ApprovalRequest, ProcessRequest, SandboxPlan
from skills_runtime.safety.approvals.request import propose_rule, rule_record
from skills_runtime.safety.guard import assess
from skills_runtime.safety.policy import Allow, Ask, PolicyDecision, Rule, Rules, decide, load_rules
from skills_runtime.skills import Library, bundled
from skills_runtime.tools.builtin.skill_exec import SkillExec
from tests.support.tools import Workshop, data_of
from tests.unit.skills.samples import library_at, library_of, make_skill, row, skill_text
from tests.unit.tools.builtin.conftest import Tagging

MENTION = "$[web:mvp].writer"
ACTIONS = """\
actions:
  show: {kind: shell, argv: [sh, actions/show.sh, "two words"]}
  script: {kind: shell, argv: [actions/show.sh]}
  environment: {kind: shell, argv: [env], env: {MODE: fast, KEY: mine}}
  fail: {kind: shell, argv: [sh, actions/fail.sh]}
  hang: {kind: shell, argv: [sleep, "1000"], timeout_ms: 50}
  wait: {kind: shell, argv: [sh, actions/wait.sh]}
  away: {kind: shell, argv: [cat, ../../secret]}
  wrong: {kind: python, argv: ["true"]}
"""
SCRIPTS = {
    "actions/show.sh": '#!/bin/sh\npwd\necho "$0"\necho "$1"\n',
    "actions/fail.sh": "echo bad >&2; exit 3\n",
    "actions/wait.sh": "sleep 1000 & echo > up; sleep 1000\n",
}


def skills(place: Path) -> Path:
    """A directory of skills outside the working directory, with one skill in it."""
    root = place.resolve() / "skills"
    directory = make_skill(root, "writer", text=skill_text(extra=ACTIONS), files=SCRIPTS)
    (directory / "actions" / "show.sh").chmod(0o755)
    return root


@pytest.fixture
def tool(tmp_path: Path) -> SkillExec:
    return SkillExec(library_at(skills(tmp_path)), enabled=True)


async def code_of(tool: SkillExec, workshop: Workshop, action: str = "show", mention: str = MENTION) -> str:
    result = await workshop.answer(tool, skill_mention=mention, action_id=action)
    error: dict[str, Any] = data_of(result)["error"]
    assert not result.ok
    assert error.keys() == {"code", "message", "details"}
    assert error["message"] in result.stderr
    return error["code"]


async def test_an_action_runs_in_the_working_directory_with_the_skills_own_files(
    tool: SkillExec, running: Workshop, tmp_path: Path
) -> None:
    result = await running.answer(tool, skill_mention=MENTION, action_id="show")
    script = tmp_path.resolve() / "skills" / "writer" / "actions" / "show.sh"
    assert result.stdout.splitlines() == [str(running.root), str(script), "two words"]
    assert result.ok
    assert (data_of(result)["skill"], data_of(result)["action_id"]) == (MENTION, "show")
    assert "sandbox" in data_of(result)


async def test_a_script_may_be_the_program_itself(tool: SkillExec, running: Workshop) -> None:
    assert (await running.answer(tool, skill_mention=MENTION, action_id="script")).ok


async def test_an_action_gets_its_own_variables_and_those_of_the_runtime(
    tool: SkillExec, running: Workshop, tmp_path: Path
) -> None:
    result = await running.answer(tool, skill_mention=MENTION, action_id="environment")
    shown = dict(line.split("=", 1) for line in result.stdout.splitlines())
    assert shown["MODE"] == "fast"
    assert {name: shown[name] for name in shown if name.startswith("SKILLS_RUNTIME_SDK_")} == {
        "SKILLS_RUNTIME_SDK_WORKSPACE_ROOT": str(running.root),
        "SKILLS_RUNTIME_SDK_SKILL_BUNDLE_ROOT": str(tmp_path.resolve() / "skills" / "writer"),
        "SKILLS_RUNTIME_SDK_SKILL_MENTION": MENTION,
        "SKILLS_RUNTIME_SDK_SKILL_ACTION_ID": "environment",
    }


async def test_an_approval_is_asked_about_chosen_variables_not_those_the_runtime_sets(
    tool: SkillExec, running: Workshop
) -> None:
    intent = await tool.intent({"skill_mention": MENTION, "action_id": "environment"}, running)
    assert "MODE" in intent.environment
    assert not [name for name in intent.environment if name.startswith("SKILLS_RUNTIME_SDK_")]


async def test_an_approved_program_passes_until_anything_in_its_skill_changes(
    tool: SkillExec, running: Workshop, tmp_path: Path
) -> None:
    async def decide_on(action: str, *rules: Rule) -> PolicyDecision:
        intent = await tool.intent({"skill_mention": MENTION, "action_id": action}, running)
        return decide(assess(tool.spec, intent), Rules(mode="auto", sandboxed=True, rules=rules))

    preview = await tool.preview({"skill_mention": MENTION, "action_id": "environment"}, running)
    in_sandbox = msgspec.structs.replace(preview, fence={"active": True})
    request = ApprovalRequest(approval_key="k" * 12, tool="skill_exec", summary="", intent=in_sandbox)
    rule = propose_rule(request, "skill")
    assert load_rules(rule_record(rule, "skill")["text"], origin="") == (rule,)
    assert isinstance(await decide_on("environment"), Ask)
    assert isinstance(await decide_on("environment", rule), Allow)
    assert isinstance(await decide_on("show", rule), Ask)
    (tmp_path / "skills" / "writer" / "actions" / "fail.sh").write_text("exit 4\n")
    assert isinstance(await decide_on("environment", rule), Ask)


async def test_only_the_skills_of_the_runtime_itself_are_built_in(
    tool: SkillExec, running: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def is_built_in() -> bool:
        return (await tool.intent({"skill_mention": MENTION, "action_id": "show"}, running)).is_built_in

    assert not await is_built_in()
    monkeypatch.setattr(bundled, "_PACKAGE_ROOT", tmp_path / "src" / "skills_runtime")  # its skills are in `skills`
    assert await is_built_in()
    running.root = tmp_path  # commands of the run could change them
    assert not await is_built_in()


async def test_only_variables_that_the_skill_declares_reach_its_action(running: Workshop, tmp_path: Path) -> None:
    root = skills(tmp_path)
    declared = "dependencies: {tools: [{type: env_var, value: TOKEN}, {type: env_var, value: KEY}]}"
    make_skill(root, "writer", text=skill_text(extra=ACTIONS), files={"agents/openai.yaml": declared})
    tool = SkillExec(library_at(root, TOKEN="t0ken", KEY="users", OTHER="0ther"), enabled=True)
    result = await running.answer(tool, skill_mention=MENTION, action_id="environment")
    assert "TOKEN=t0ken\n" in result.stdout
    assert "KEY=mine\n" in result.stdout
    assert "0ther" not in result.stdout


async def test_a_missing_variable_is_named(running: Workshop, fence: Tagging, tmp_path: Path) -> None:
    root = skills(tmp_path)
    declared = "dependencies: {tools: [{type: env_var, value: TOKEN}]}"
    make_skill(root, "writer", text=skill_text(extra=ACTIONS), files={"agents/openai.yaml": declared})
    result = await running.answer(SkillExec(library_at(root), enabled=True), skill_mention=MENTION, action_id="show")
    assert data_of(result)["error"]["code"] == "SKILL_ENV_VAR_MISSING"
    assert data_of(result)["error"]["details"]["missing_env_vars"] == ["TOKEN"]
    assert result.error_kind == "validation"
    assert fence.requests == []


async def test_an_action_that_fails_is_a_result_with_its_exit_code(tool: SkillExec, running: Workshop) -> None:
    result = await running.answer(tool, skill_mention=MENTION, action_id="fail")
    assert (result.ok, result.exit_code, result.error_kind, result.stderr) == (False, 3, "exit_code", "bad\n")


async def test_an_action_has_the_time_its_skill_gives_it(tool: SkillExec, running: Workshop) -> None:
    result = await running.answer(tool, skill_mention=MENTION, action_id="hang")
    assert (result.ok, result.error_kind) == (False, "timeout")


async def test_a_cancelled_call_ends_the_action(tool: SkillExec, running: Workshop, fence: Tagging) -> None:
    os.mkfifo(running.root / "up")
    call = asyncio.create_task(running.answer(tool, skill_mention=MENTION, action_id="wait"))
    await asyncio.to_thread((running.root / "up").read_text)
    assert fence.alive()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert fence.alive() == []


async def test_actions_are_off_by_default(running: Workshop, fence: Tagging, tmp_path: Path) -> None:
    tool = SkillExec(library_at(skills(tmp_path)), enabled=False)
    assert await code_of(tool, running) == "SKILL_ACTIONS_DISABLED"
    assert (await running.answer(tool, skill_mention=MENTION, action_id="show")).error_kind == "permission"
    assert fence.requests == []


@pytest.mark.parametrize(
    ("mention", "action", "code"),
    [
        ("writer", "show", "SKILL_MENTION_FORMAT_INVALID"),
        (f"{MENTION} ", "show", "SKILL_MENTION_FORMAT_INVALID"),
        ("$[web:mvp].nobody", "show", "SKILL_UNKNOWN"),
        ("$[else].writer", "show", "SKILL_SPACE_NOT_CONFIGURED"),
        (MENTION, "nothing", "SKILL_ACTION_NOT_FOUND"),
        (MENTION, "wrong", "SKILL_ACTION_DEFINITION_INVALID"),
        (MENTION, "away", "SKILL_ACTION_ARGV_PATH_ESCAPE"),
    ],
)
async def test_what_cannot_run_is_refused_with_its_code_and_starts_nothing(
    mention: str, action: str, code: str, tool: SkillExec, running: Workshop, fence: Tagging
) -> None:
    assert await code_of(tool, running, action, mention) == code
    assert fence.requests == []


async def test_a_script_that_became_a_link_does_not_run(
    tool: SkillExec, running: Workshop, fence: Tagging, tmp_path: Path
) -> None:
    await running.answer(tool, skill_mention=MENTION, action_id="show")
    before = len(fence.requests)
    script = tmp_path / "skills" / "writer" / "actions" / "show.sh"
    script.rename(tmp_path / "moved.sh")
    script.symlink_to(tmp_path / "moved.sh")
    assert await code_of(tool, running) == "SKILL_ACTION_ARGV_PATH_ESCAPE"
    assert len(fence.requests) == before


async def test_a_script_that_is_gone_is_named(tool: SkillExec, running: Workshop, tmp_path: Path) -> None:
    (tmp_path / "skills" / "writer" / "actions" / "show.sh").unlink()
    assert await code_of(tool, running) == "SKILL_ACTION_ARGV_PATH_INVALID"


async def test_a_skill_without_files_has_nothing_to_run(running: Workshop) -> None:
    library = library_of(row(metadata={"actions": {"show": {"kind": "shell", "argv": ["true"]}}}))
    assert await code_of(SkillExec(library, enabled=True), running) == "SKILL_ACTION_SOURCE_UNSUPPORTED"


class Refusing:
    """A fence that lets nothing through."""

    def plan(self, request: ProcessRequest) -> SandboxPlan:
        raise SandboxError(f"no fence for {request.argv[0]}")


async def test_a_fence_that_refuses_is_not_gone_around(tool: SkillExec, tmp_path: Path) -> None:
    workshop = Workshop(tmp_path / "other", sandbox=Refusing())
    with pytest.raises(SandboxError):
        await workshop.answer(tool, skill_mention=MENTION, action_id="show")


@pytest.mark.parametrize(
    "arguments", [{}, {"skill_mention": MENTION}, {"skill_mention": MENTION, "action_id": ""}, {"argv": ["sh"]}]
)
async def test_other_arguments_are_refused(arguments: dict[str, Any], running: Workshop) -> None:
    with pytest.raises(ToolError) as caught:
        await running.call(SkillExec(Library(), enabled=True), **arguments)
    assert caught.value.kind == "validation"
