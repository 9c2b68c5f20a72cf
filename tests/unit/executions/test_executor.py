"""An execution from its input to its record, in both manners."""

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.executions import Execution, ExecutionLimits, Executor
from skills_runtime.skills import Skill
from tests.unit.executions.conftest import MakeSkill
from tests.unit.executions.samples import ECHO, an_executor

NOT_TEXT = "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"
SHELL = 'line=$(cat); echo "{\\"got\\": $line}"\n'
NODE = 'const got = JSON.parse(require("fs").readFileSync(0, "utf8"));\nconsole.log(JSON.stringify({got}));\n'


def failed(execution: Execution) -> tuple[str, str]:
    """The state of an execution that did not complete, and why."""
    assert execution.error is not None
    assert execution.output is None
    return execution.status, execution.error.message


@pytest.mark.parametrize(("runtime", "code"), [("python", ECHO), ("shell", SHELL), ("node", NODE)])
async def test_json_goes_in_and_json_comes_out(
    executor: Executor, skill: MakeSkill, manner: str, runtime: str, code: str
) -> None:
    execution = await executor.execute(skill(code, runtime=runtime), {"text": "é"})
    assert execution.output == {"got": {"text": "é"}}, execution.stderr
    assert (execution.status, execution.exit_code, execution.stderr) == ("completed", 0, "")
    assert execution.record.warm == (manner == "warm")
    assert execution.record.isolation["adapter"] == "bubblewrap"


@pytest.mark.parametrize("value", [[1, 2], "text", 7, True])
async def test_an_input_need_not_be_an_object(executor: Executor, skill: MakeSkill, value: Any) -> None:
    assert (await executor.execute(skill(ECHO), value)).output == {"got": value}


async def test_everything_is_kept_in_private_files(executor: Executor, skill: MakeSkill) -> None:
    made = skill("import sys\nprint('said', file=sys.stderr)\nprint('[1]')\n")
    execution = await executor.execute(made, {"a": 1}, timeout_ms=20_000)
    directory = executor.directory(execution.id)
    kept = {path.name: path.read_text(encoding="utf-8") for path in directory.iterdir()}
    assert kept.keys() == {"execution.json", "input.json", "stdout.txt", "stderr.txt", "output.json"}
    assert (kept["input.json"], kept["stdout.txt"], kept["stderr.txt"]) == ('{"a": 1}', "[1]\n", "said\n")
    assert json.loads(kept["output.json"]) == [1]
    record = json.loads(kept["execution.json"])
    assert (record["status"], record["skill"], record["timeout_ms"]) == ("completed", "tried", 20_000)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}


async def test_an_execution_can_be_read_again(executor: Executor, skill: MakeSkill) -> None:
    execution = await executor.execute(skill(ECHO), {"a": 1})
    assert await executor.get(execution.id) == execution
    assert [record.execution_id for record in await executor.list()] == [execution.id]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise SystemExit(3)\n", "Skill exited with code 3"),
        ("print('no')\n", "Invalid JSON output: Expecting value: line 1 column 1 (char 0)"),
        ("pass\n", "Skill returned empty output"),
        ("import os\nos.write(1, b'\\xff')\n", f"Invalid JSON output: {NOT_TEXT}"),
        ("1 / 0\n", "Skill exited with code 1"),
        ("print(\n", "Skill exited with code 1"),
    ],
)  # fmt: skip
async def test_errors_use_the_kinds_that_clients_know(
    executor: Executor, skill: MakeSkill, code: str, message: str
) -> None:
    assert failed(await executor.execute(skill(code), {})) == ("failed", message)


async def test_a_signal_is_a_negative_code(executor: Executor, skill: MakeSkill, manner: str) -> None:
    execution = await executor.execute(skill("import os\nos.kill(os.getpid(), 9)\n"), {})
    # A fence that is made for one process reports its end as a shell does.
    assert execution.exit_code == (-9 if manner == "warm" else 137)


async def test_an_error_is_reported_as_python_tells_it(executor: Executor, skill: MakeSkill) -> None:
    execution = await executor.execute(skill("def broken():\n    raise ValueError('why')\n\nbroken()\n"), {})
    assert execution.stderr.startswith("Traceback (most recent call last):\n  File ")
    assert execution.stderr.count("\n  File ") == 2
    assert execution.stderr.endswith("ValueError: why\n")


async def test_carriage_returns_stay_in_the_streams(executor: Executor, skill: MakeSkill) -> None:
    execution = await executor.execute(skill("import os\nos.write(1, b'[1]\\r\\n')\n"), {})
    assert (executor.directory(execution.id) / "stdout.txt").read_bytes() == b"[1]\r\n"


async def test_too_much_output_ends_the_skill(tmp_path: Path, skill: MakeSkill) -> None:
    made = skill("import os\nwhile True:\n    os.write(1, b'x' * 65536)\n")
    async with an_executor(tmp_path, limits=ExecutionLimits(stdout_bytes=1000)) as executor:
        execution = await executor.execute(made, {}, timeout_ms=60_000)
        assert failed(execution) == ("failed", "stdout exceeded limit")
        assert (executor.directory(execution.id) / "stdout.txt").stat().st_size == 1000


async def test_errors_that_are_too_long_are_cut(tmp_path: Path, skill: MakeSkill) -> None:
    made = skill("import sys\nsys.stderr.write('x' * 5_000_000)\nprint('1')\n")
    async with an_executor(tmp_path, limits=ExecutionLimits(stderr_bytes=1000)) as executor:
        execution = await executor.execute(made, {}, timeout_ms=60_000)
    assert (execution.status, execution.stderr) == ("completed", "x" * 1000)
    assert execution.record.stderr.total == 5_000_000


async def test_a_skill_without_a_definition_is_refused(executor: Executor) -> None:
    plain = Skill(namespace="a", name="b", description="", locator="", space_id="", source_id="")
    with pytest.raises(ValidationFailed, match=r"no `skill\.yaml`"):
        await executor.execute(plain, {})
    assert not await executor.list()


async def test_a_skill_without_its_entry_leaves_nothing(executor: Executor, skill: MakeSkill) -> None:
    made = skill(ECHO)
    ((made.directory or Path()) / "run.py").unlink()
    with pytest.raises(Exception, match=r"has no entry file `run\.py`"):
        await executor.execute(made, {})
    assert not await executor.list()


async def test_typescript_needs_a_program_for_it(executor: Executor, skill: MakeSkill) -> None:
    made = skill("1", runtime="node")
    ((made.directory or Path()) / "run.ts").write_text("console.log(1)")
    with pytest.raises(NotFound, match=r"^No tsx or ts-node found for TypeScript skill$"):
        await executor.execute(made, {}, key="once")
    assert not await executor.list()


async def test_ids_that_are_none_are_not_found(executor: Executor) -> None:
    for name in ("../etc", "exec-", "exec-../x", "exec-0123456789ab", ".runtime", "exec-a/b", "exec-\0", ""):
        with pytest.raises(NotFound):
            await executor.get(name)


async def test_a_large_input_arrives_whole(executor: Executor, skill: MakeSkill) -> None:
    made = skill("import json, sys\nprint(len(json.load(sys.stdin)))\n")
    assert (await executor.execute(made, "x" * 3_000_000, timeout_ms=60_000)).output == 3_000_000


async def test_many_at_once_do_not_mix(executor: Executor, skill: MakeSkill) -> None:
    made = skill(
        "import json, sys\nfrom pathlib import Path\nvalue = json.load(sys.stdin)\n"
        "Path('same.txt').write_text(str(value))\nprint(Path('same.txt').read_text())\n",
        artifacts=["same.txt"],
    )
    values = range(1, 9)
    done = await asyncio.gather(*(executor.execute(made, value, timeout_ms=60_000) for value in values))
    assert [execution.output for execution in done] == list(values)
    for value, execution in zip(values, done, strict=True):
        assert (executor.directory(execution.id) / "same.txt").read_text() == str(value)
    assert not ((made.directory or Path()) / "same.txt").exists()
