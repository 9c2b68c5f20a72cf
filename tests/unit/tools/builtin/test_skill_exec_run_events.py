"""What a run is told of an execution: two events, and in plain words what the fence kept a skill from."""

from pathlib import Path

from skills_runtime.config.models import SandboxSettings
from skills_runtime.events.payloads import SkillExecutionFinished, SkillExecutionStarted
from skills_runtime.sandbox import NoSandbox, build_sandbox
from tests.support.tools import PATH, Workshop, data_of
from tests.unit.tools.builtin.test_skill_exec_run import MENTION, counter, run, tool_for

WRITES_OUTSIDE = "cat > /dev/null; mkdir /usr/made && echo '{}'\n"


def about(running: Workshop) -> list[SkillExecutionStarted | SkillExecutionFinished]:
    """The events about executions, in order."""
    kinds = (SkillExecutionStarted, SkillExecutionFinished)
    return [payload for payload in running.emitted if isinstance(payload, kinds)]


async def test_the_log_tells_when_an_execution_begins_and_ends(running: Workshop, tmp_path: Path) -> None:
    script = "mkdir out; echo hi > out/a.txt; echo '{}'\n"
    result = await run(counter(tmp_path, script, file="run.sh", artifacts=["out"]), running)

    began, ended = about(running)
    name = data_of(result)["execution_id"]
    assert began == SkillExecutionStarted(call_id=running.call_id, execution_id=name, skill="counter")
    assert isinstance(ended, SkillExecutionFinished)
    assert (ended.execution_id, ended.status, ended.exit_code, ended.error) == (name, "completed", 0, "")
    assert [(one["path"], one["size"]) for one in ended.artifacts] == [("out/a.txt", 3)]
    assert ended.stdout_bytes == 3
    assert ended.skill_digest.startswith("sha256:")


async def test_a_failure_is_reported_in_one_word(running: Workshop, tmp_path: Path) -> None:
    await run(counter(tmp_path, "exit 3\n", file="run.sh"), running)

    ended = about(running)[-1]
    assert isinstance(ended, SkillExecutionFinished)
    assert (ended.status, ended.exit_code, ended.error) == ("failed", 3, "exit_code")


async def test_a_call_that_is_made_again_begins_nothing(running: Workshop, tmp_path: Path) -> None:
    skill = counter(tmp_path)
    await run(skill, running)
    await run(skill, running)

    assert [payload.event_type for payload in about(running)] == [
        "skill_execution_started",
        "skill_execution_finished",
        "skill_execution_finished",
    ]


async def test_a_sandbox_denial_is_reported_and_offers_only_what_can_be_granted(tmp_path: Path) -> None:
    skill = counter(tmp_path, WRITES_OUTSIDE, file="run.sh")
    workspace = tmp_path / "fenced" / "project"
    fence = build_sandbox(SandboxSettings(), workspace=workspace, variables={"PATH": PATH})
    fenced = Workshop(tmp_path / "fenced", sandbox=fence)

    result = await fenced.answer(tool_for(skill), skill_mention=MENTION, action_id="run")

    assert (result.ok, result.error_kind) == (False, "sandbox_denied")
    assert "[the sandbox: " in result.stderr
    assert [(one["what"], one["target"]) for one in data_of(result)["denials"]] == [("write", "/usr/made")]
    assert "grant" not in data_of(result)
    assert "call again" not in result.stderr


async def test_a_skill_that_fails_by_itself_is_no_matter_of_the_fence(tmp_path: Path) -> None:
    plain = Workshop(tmp_path / "plain", sandbox=NoSandbox({"PATH": PATH}))

    result = await plain.answer(
        tool_for(counter(tmp_path, "exit 3\n", file="run.sh")), skill_mention=MENTION, action_id="run"
    )

    assert (result.error_kind, result.exit_code) == ("exit_code", 3)
