"""Executions are less urgent than whoever serves them."""

import os
from pathlib import Path

import pytest

from skills_runtime.executions import Executor
from skills_runtime.executions.inside.zygote import NICENESS
from tests.unit.executions.samples import make_skill

SAYS = "import json, os\nprint(json.dumps([os.getpriority(os.PRIO_PROCESS, 0), os.getpgid(0) == os.getpid()]))\n"


async def test_a_waiting_process_and_what_it_starts_give_way_to_others(executor: Executor, tmp_path: Path) -> None:
    mine = os.getpriority(os.PRIO_PROCESS, 0)
    done = await executor.execute(make_skill(tmp_path, SAYS), {})
    assert done.record.warm
    assert done.output == [min(mine + NICENESS, 19), True]


@pytest.mark.parametrize("runtime", ["python", "shell"])
async def test_a_process_made_for_one_execution_gives_way_as_well(
    executor: Executor, tmp_path: Path, runtime: str
) -> None:
    mine = os.getpriority(os.PRIO_PROCESS, 0)
    shell = "set -- $(cat /proc/self/stat); echo ${19}"  # the field that says it, of a child of the shell
    python = "import json, os\nprint(json.dumps(os.getpriority(os.PRIO_PROCESS, 0)))\n"
    made = make_skill(tmp_path, shell if runtime == "shell" else python, runtime=runtime, warm=False)
    done = await executor.execute(made, {})
    assert not done.record.warm
    assert done.output == min(mine + NICENESS, 19)
