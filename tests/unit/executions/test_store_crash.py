"""Whoever runs executions may be killed: whoever comes next settles them, and nothing runs on or runs twice."""

import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skills_runtime.executions.layout import ExecutionLayout, Owner, find_dead_owners
from tests.support import ROOT
from tests.unit.executions.samples import ECHO, an_executor, make_skill
from tests.unit.executions.test_executor_deadlines import sleeping

VICTIM = """\
import asyncio, sys
from pathlib import Path
from tests.unit.executions.samples import an_executor, find

async def main(root: Path) -> None:
    async with an_executor(root) as executor:
        await executor.execute(find(root), {}, key="k", timeout_ms=60_000)

asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.mark.parametrize("warm", [True, False])
async def test_an_execution_whose_runner_was_killed_is_settled_and_not_repeated(tmp_path: Path, warm: bool) -> None:
    seconds = f"47{14 + warm}.5"
    made = make_skill(tmp_path, f"echo '[1]'; sleep {seconds}", runtime="shell", warm=warm)
    with subprocess.Popen([sys.executable, "-c", VICTIM, str(tmp_path)], cwd=ROOT) as victim:
        deadline = time.monotonic() + 60
        while not sleeping(seconds) and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        assert sleeping(seconds)
        victim.send_signal(signal.SIGKILL)
    async with an_executor(tmp_path) as executor:
        [record] = await executor.list()
        assert (record.status, record.error and record.error.code) == ("failed", "interrupted")
        again = await executor.execute(made, {}, key="k")
        assert (again.id, again.status) == (record.execution_id, "failed")
        while sleeping(seconds) and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        assert not sleeping(seconds)
        assert len(list((tmp_path / "executions" / ".runtime" / "stages").iterdir())) == 1


async def test_a_new_process_settles_no_execution_of_a_living_one(tmp_path: Path) -> None:
    made = make_skill(tmp_path, "import time\ntime.sleep(0.5)\nprint('[1]')\n")
    async with an_executor(tmp_path) as one:
        under_way = asyncio.create_task(one.execute(made, {}, timeout_ms=60_000))
        while not await one.list(status="running"):
            await asyncio.sleep(0.01)
        async with an_executor(tmp_path) as other:
            assert [record.status for record in await other.list()] == ["running"]
        assert (await under_way).status == "completed"


async def test_nothing_is_left_when_all_is_closed(tmp_path: Path) -> None:
    async with an_executor(tmp_path) as executor:
        await executor.execute(make_skill(tmp_path, ECHO), {})
    runtime = tmp_path / "executions" / ".runtime"
    assert [list((runtime / name).iterdir()) for name in ("owners", "keys")] == [[], []]
    assert not (runtime / "stages").exists()


def test_a_journal_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    place = ExecutionLayout(tmp_path)
    place.make()
    owner = Owner(place)
    for name in ("exec-a", "exec-b", "exec-c"):
        owner.note_start(name)
    owner.note_end("exec-b")
    owner.close()
    with open(tmp_path / ".runtime" / "owners" / owner.name / "journal", "a", encoding="ascii") as journal:
        journal.write("+exe")
    assert [names for _, names in find_dead_owners(place)] == [["exec-a", "exec-c"]]


def test_a_long_journal_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skills_runtime.executions.layout.MAX_LINES", 10)
    place = ExecutionLayout(tmp_path)
    place.make()
    owner = Owner(place)
    owner.note_start("exec-kept")
    for number in range(20):
        owner.note_start(f"exec-{number}")
        owner.note_end(f"exec-{number}")
    owner.close()
    journal = tmp_path / ".runtime" / "owners" / owner.name / "journal"
    assert len(journal.read_text().splitlines()) < 20
    assert [names for _, names in find_dead_owners(place)] == [["exec-kept"]]
