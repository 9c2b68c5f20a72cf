"""The action `run` of a skill: JSON in, JSON out, on a copy of its directory."""

import json
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent.skills.executions import RunExecutions
from skills_runtime.errors import ToolError
from skills_runtime.sandbox import NoSandbox
from skills_runtime.tools.builtin.skill_exec import SkillExec
from tests.support.tools import PATH, Workshop, data_of
from tests.unit.skills.samples import library_at, make_skill, skill_text
from tests.unit.tools.builtin.conftest import Tagging

MENTION = "$[web:mvp].counter"
ECHO = "import json, sys\nprint(json.dumps({'got': json.load(sys.stdin)}))\n"


def counter(place: Path, script: str = ECHO, *, file: str = "run.py", extra: str = "", **fields: Any) -> Path:
    """A directory of skills with one that runs by itself; returns the directory of that skill."""
    kinds = {"run.py": "python", "run.js": "node", "run.ts": "node", "run.sh": "shell"}
    definition = {"name": "counter", "description": "Counts.", "runtime": {"type": kinds[file]}, **fields}
    files = {"skill.yaml": json.dumps(definition), file: script}
    text = skill_text("counter", extra=extra)
    return make_skill(place.resolve() / "skills", "counter", text=text, files=files)


def tool_for(skill: Path, **environment: str) -> SkillExec:
    library = library_at(skill.parent, **environment)
    return SkillExec(library, enabled=True, runner=RunExecutions(skill.parent.parent / "executions", library))


async def run(skill: Path, running: Workshop, **arguments: Any) -> Any:
    return await running.answer(tool_for(skill), skill_mention=MENTION, action_id="run", **arguments)


async def test_the_input_comes_in_as_json_and_the_output_is_structured(running: Workshop, tmp_path: Path) -> None:
    result = await run(counter(tmp_path), running, input={"text": '它\'s "x" %s\n', "n": 1})

    assert result.ok
    assert data_of(result)["output"] == {"got": {"text": '它\'s "x" %s\n', "n": 1}}
    assert json.loads(result.stdout) == data_of(result)["output"]
    assert data_of(result)["action_id"] == "run"


async def test_without_an_input_the_skill_reads_an_empty_object(running: Workshop, tmp_path: Path) -> None:
    assert data_of(await run(counter(tmp_path), running))["output"] == {"got": {}}


async def test_a_shell_script_runs_too(running: Workshop, tmp_path: Path) -> None:
    skill = counter(tmp_path, 'read -r line\necho "[$line]"\n', file="run.sh")

    assert data_of(await run(skill, running, input={"a": 1}))["output"] == [{"a": 1}]


async def test_typescript_needs_a_program_that_runs_it(running: Workshop, tmp_path: Path) -> None:
    skill = counter(tmp_path, "console.log(1)\n", file="run.ts")

    missing = await run(skill, running)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "ts-node").write_text('#!/bin/sh\necho "{\\"ran\\": \\"$1\\"}"\n')
    (tools / "ts-node").chmod(0o755)
    equipped = Workshop(tmp_path / "equipped", sandbox=NoSandbox({"PATH": f"{tools}:{PATH}"}))

    assert "No tsx or ts-node found for TypeScript skill" in missing.stderr
    assert data_of(await run(skill, equipped))["output"] == {"ran": "run.ts"}


async def test_it_works_on_a_copy_and_what_it_declares_is_kept(running: Workshop, tmp_path: Path) -> None:
    script = "mkdir artifacts; echo hi > artifacts/a.txt; echo x > run.sh; echo y > other; echo '{}'\n"
    artifacts = ["artifacts/a.txt", "artifacts/none"]
    skill = counter(tmp_path, script, file="run.sh", artifacts=artifacts)
    (skill / "artifacts").mkdir()
    (skill / "artifacts" / "none").write_text("left by an earlier execution")

    result = await run(skill, running)

    assert (skill / "run.sh").read_text() == script
    assert not (skill / "other").exists()
    name = data_of(result)["execution_id"]
    assert data_of(result)["artifacts"] == [f"artifacts/{name}/artifacts/a.txt"]
    assert running.contents() == {f"artifacts/{name}/artifacts/a.txt": b"hi\n"}


async def test_a_link_is_no_artifact(running: Workshop, tmp_path: Path) -> None:
    skill = counter(tmp_path, "ln -s /etc/passwd a.txt; echo '{}'\n", file="run.sh", artifacts=["a.txt"])

    assert data_of(await run(skill, running))["artifacts"] == []
    assert running.contents() == {}


async def test_it_sees_only_the_variables_it_declares(running: Workshop, tmp_path: Path) -> None:
    script = "import json, os, sys\nprint(json.dumps(dict(os.environ)))\n"
    tool = tool_for(counter(tmp_path, script, env=["TOKEN", "ABSENT"]), TOKEN="t0ken", OTHER="0ther")

    result = await running.answer(tool, skill_mention=MENTION, action_id="run")

    seen: dict[str, str] = data_of(result)["output"]
    assert seen["TOKEN"] == "t0ken"
    assert seen["SKILL_NAME"] == "counter"
    assert seen["SKILL_EXECUTION_ID"] == data_of(result)["execution_id"]
    assert {"OTHER", "ABSENT", "SKILL_INPUT"} & seen.keys() == set()
    assert "t0ken" not in running.secrets.text("t0ken")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("true", "Skill returned empty output"),
        ("echo null", "Skill returned empty output"),
        ("echo '{} {}'", "Invalid JSON output"),
        ("echo '[NaN]'", "Invalid JSON output"),
        ("head -c 1000002 /dev/zero | tr '\\0' 1", "stdout exceeded limit"),
    ],
)
async def test_an_output_that_is_not_one_value_is_an_error(
    script: str, why: str, running: Workshop, tmp_path: Path
) -> None:
    result = await run(counter(tmp_path, f"{script}\n", file="run.sh"), running)

    assert (result.ok, result.error_kind) == (False, "validation")
    assert data_of(result)["error"]["code"] == "SKILL_RUN_OUTPUT_INVALID"
    assert why in data_of(result)["error"]["message"]
    assert why in result.stderr


async def test_a_failing_skill_is_a_result_with_its_exit_code(running: Workshop, tmp_path: Path) -> None:
    result = await run(counter(tmp_path, "echo bad >&2; exit 3\n", file="run.sh"), running)

    assert (result.ok, result.error_kind, result.exit_code, result.stderr) == (False, "exit_code", 3, "bad\n")


async def test_it_has_the_time_that_its_definition_gives_it(running: Workshop, tmp_path: Path) -> None:
    result = await run(counter(tmp_path, "sleep 1000\n", file="run.sh", timeout=50), running)

    assert result.error_kind == "timeout"


async def test_an_input_that_is_too_long_is_refused_before_anything_starts(
    running: Workshop, fence: Tagging, tmp_path: Path
) -> None:
    result = await run(counter(tmp_path), running, input={"text": "x" * 200_000})

    assert (result.ok, result.error_kind) == (False, "validation")
    assert fence.requests == []


async def test_other_actions_take_no_input(running: Workshop, tmp_path: Path) -> None:
    skill = counter(tmp_path, extra="actions:\n  show: {kind: shell, argv: [echo]}\n")

    with pytest.raises(ToolError, match="takes no `input`"):
        await running.call(tool_for(skill), skill_mention=MENTION, action_id="show", input={"a": 1})


async def test_an_action_run_that_is_defined_twice_is_refused(running: Workshop, tmp_path: Path) -> None:
    skill = counter(tmp_path, extra="actions:\n  run: {kind: shell, argv: [echo]}\n")

    assert data_of(await run(skill, running))["error"]["code"] == "SKILL_ACTION_DEFINITION_INVALID"


async def test_a_skill_without_the_file_to_begin_with_says_which_is_missing(running: Workshop, tmp_path: Path) -> None:
    skill = counter(tmp_path)
    (skill / "run.py").unlink()
    (skill / "run.py").symlink_to("/etc/passwd")

    result = await run(skill, running)

    assert data_of(result)["error"]["code"] == "SKILL_ACTION_ARGV_PATH_INVALID"
    assert "`run.py`" in result.stderr


async def test_the_approver_sees_the_plain_command_and_every_call_has_the_same_name(
    running: Workshop, tmp_path: Path
) -> None:
    skill = counter(tmp_path)
    arguments = {"skill_mention": MENTION, "action_id": "run", "input": {"a": 1}}

    first = await tool_for(skill).preview(arguments, running)
    running.idempotency_key = "1" * 32
    second = await tool_for(skill).preview(arguments, running)

    assert first.argv == ("python3", str(skill / "run.py"))
    assert first.digests[MENTION]
    assert first == second


async def test_the_names_of_all_actions_are_reported(running: Workshop, tmp_path: Path) -> None:
    result = await running.answer(tool_for(counter(tmp_path)), skill_mention=MENTION, action_id="walk")

    assert "it has: `run`" in result.stderr
