"""skills exec: JSON in, JSON out, and an exit code that says what happened."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.cli.programs import invoke
from tests.unit.executions.samples import ECHO, make_skill
from tests.unit.executions.test_executor_deadlines import sleeping

PROGRAM = (sys.executable, "-c", "from skills_runtime.cli.main import main; main()")


def test_the_output_alone_is_written(workspace: Path) -> None:
    make_skill(workspace, ECHO)
    done = invoke("skills", "exec", "tried", "--from", "skills", "--input", '{"a": "é"}')
    assert (done.code, json.loads(done.out), done.err) == (0, {"got": {"a": "é"}}, "")


def test_programs_get_everything_as_json(workspace: Path) -> None:
    make_skill(workspace, "open('a.txt', 'w').write('x')\nprint('[1]')\n", artifacts=["a.txt"])
    done = invoke("skills", "exec", "$[given].tried", "--from", "skills", "--json", "--artifacts-dir", "kept")
    found = json.loads(done.out)
    assert (found["success"], found["status"], found["output"], found["exitCode"]) == (True, "completed", [1], 0)
    assert [Path("kept", path).read_text() for path in found["artifacts"]] == ["x"]


def test_the_input_may_be_a_file_or_standard_input(workspace: Path) -> None:
    make_skill(workspace, ECHO)
    (workspace / "input.json").write_text('{"a": 1}')
    done = invoke("skills", "exec", "tried", "--from", "skills", "--input", "@input.json")
    assert json.loads(done.out) == {"got": {"a": 1}}
    command = [*PROGRAM, "skills", "exec", "tried", "--from", "skills", "--input", "-"]
    said = subprocess.run(command, cwd=workspace, input=b"[2]", stdout=subprocess.PIPE, check=True, timeout=60).stdout
    assert json.loads(said) == {"got": [2]}


def test_skills_that_come_with_the_runtime_can_be_executed(workspace: Path) -> None:
    done = invoke("skills", "exec", "get-available-resources")
    assert done.code == 0
    assert json.loads(done.out)["cpu"]["usable"] >= 1
    assert (workspace / ".skills_runtime_sdk" / "executions").is_dir()


@pytest.mark.parametrize(
    ("code", "arguments", "exit_code", "said"),
    [
        ("import sys\nprint('why', file=sys.stderr)\nsys.exit(3)\n", (), 23, "why\nerror: Skill exited with code 3\n"),
        ("import time\ntime.sleep(100)\n", ("--timeout-ms", "300"), 25, "error: Execution timed out after 0.30s\n"),
        (ECHO, ("--input", "{"), 20, "error: the input is not JSON"),
        (ECHO, ("--input", "@missing"), 22, "missing"),
        (ECHO, ("--timeout-ms", "999999999"), 20, "error: the time limit must be from 1 to 600000 ms\n"),
    ],
)
def test_the_exit_code_says_what_happened(
    workspace: Path, code: str, arguments: tuple[str, ...], exit_code: int, said: str
) -> None:
    make_skill(workspace, code)
    done = invoke("skills", "exec", "tried", "--from", "skills", *arguments)
    assert (done.code, done.out) == (exit_code, "")
    assert said in done.err


def test_an_unknown_skill_is_not_found(workspace: Path) -> None:
    del workspace
    assert invoke("skills", "exec", "nothing").code == 22


def test_the_same_key_gets_the_same_execution(workspace: Path) -> None:
    make_skill(workspace, ECHO)
    arguments = ("skills", "exec", "tried", "--from", "skills", "--json", "--idempotency-key", "k")
    first, second = (json.loads(invoke(*arguments).out) for _ in range(2))
    assert first == second
    assert invoke(*arguments, "--input", "[1]").code == 20


def test_an_interrupt_cancels_the_execution(workspace: Path) -> None:
    make_skill(workspace, "sleep 4720.5", runtime="shell", timeout=100_000)
    arguments = ["skills", "exec", "tried", "--from", "skills", "--json"]
    with subprocess.Popen([*PROGRAM, *arguments], cwd=workspace, stdout=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while not sleeping("4720.5") and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 27
    assert json.loads(out)["status"] == "cancelled"
    assert not sleeping("4720.5")
