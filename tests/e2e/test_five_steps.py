"""The comparison in the README: five steps, killed in the third after its effect, resumed by a new process."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support import model_server
from tests.support.model_server import Answer, ModelServer

PROGRAM = """
import os, signal
from pathlib import Path
from skills_runtime import Agent

agent = Agent()

@agent.tool
def step(number: int) -> str:
    "Do a step."
    with Path("effects.txt").open("a") as file:
        file.write(f"{number}\\n")
    if number == 3 and "KILLED" not in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"did step {number}"

result = agent.run("Do five steps.", run_id="five")
print(result.status)
"""


def answer(request: dict[str, Any]) -> Answer:
    """Call the next of five steps, as many as have a result, then end."""
    done = sum(message["role"] == "tool" for message in request["messages"])
    return model_server.calls(("step", {"number": done + 1})) if done < 5 else model_server.says("Done.")


def run_program(workspace: Path, model: ModelServer, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own."""
    variables = {"SKILLS_RUNTIME_SDK_LLM_BASE_URL": model.base_url, "SKILLS_RUNTIME_SDK_MODEL": "any"}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=workspace,
        env={**os.environ, **variables, "NO_PROXY": "127.0.0.1", **more},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_each_effect_happens_once_and_the_model_reads_that_one_outcome_is_unknown(tmp_path: Path) -> None:
    with model_server.start(answer) as model:
        killed = run_program(tmp_path, model)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert (tmp_path / "effects.txt").read_text().split() == ["1", "2", "3"]
        resumed = run_program(tmp_path, model, KILLED="yes")
    assert resumed.stdout == "completed\n", resumed.stderr
    assert (tmp_path / "effects.txt").read_text().split() == ["1", "2", "3", "4", "5"]
    results = [json.dumps(message) for message in model.requests[-1]["messages"] if message["role"] == "tool"]
    assert ["outcome unknown" in result for result in results] == [False, False, True, False, False]
