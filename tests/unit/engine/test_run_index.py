"""From run directories to rows: the index is only ever derived."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from skills_runtime.agent.options import RunRequest
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.engine import read_row, refresh, workspace_roots
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import Ledger, open_ledger
from skills_runtime.runs import runs_root
from skills_runtime.testing import says
from tests.support.agents import agent_in, calls, writes


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "state", clock=SystemClock(), ids=RandomIds()) as opened:
        yield opened


def test_a_directory_tells_its_row(tmp_path: Path) -> None:
    result = agent_in(tmp_path, [calls(writes("a", "x")), says("the answer")]).run("The task.\nMore.", run_id="run_1")
    row, text = read_row(Path(result.wal_locator).parent, log_ports())
    assert (row.run_id, row.status, row.title, row.tool_calls) == ("run_1", RunStatus.COMPLETED, "The task.", 1)
    assert text == "The task.\nMore.\nthe answer"


def test_an_empty_index_is_filled_from_the_directories(tmp_path: Path, ledger: Ledger) -> None:
    agent = agent_in(tmp_path, [says("done")])
    agent.run("One.", run_id="run_1")
    agent.create(RunRequest(prompt="Two.", run_id="run_2")).close()
    refresh(ledger.index, [runs_root(tmp_path)], log_ports())
    found = {row.run_id: row.status for row in ledger.index.list()}
    assert found == {"run_1": RunStatus.COMPLETED, "run_2": RunStatus.PENDING}


def test_runs_of_one_session_are_grouped(tmp_path: Path, ledger: Ledger) -> None:
    agent = agent_in(tmp_path, [says("done")])
    for number, place in enumerate(("runs/one", "runs/two")):
        path = tmp_path / place
        request = RunRequest(prompt=f"{number}", session_id="s", task_id="t", sandbox_path=path)
        agent.create(request).close()
    refresh(ledger.index, [runs_root(tmp_path)], log_ports())
    assert {row.run_id for row in ledger.index.list(session_id="s", task_id="t")} == {"one", "two"}
    (session,) = ledger.index.sessions()
    assert (session.session_id, session.tasks, session.runs) == ("s", 1, 2)


def test_a_directory_that_is_no_run_has_no_row(tmp_path: Path) -> None:
    with pytest.raises(SkillsRuntimeError):
        read_row(tmp_path, log_ports())


def test_the_places_to_look_are_this_workspace_and_those_remembered(tmp_path: Path, ledger: Ledger) -> None:
    assert workspace_roots(ledger.index, tmp_path) == []
    runs_root(tmp_path).mkdir(parents=True)
    other = tmp_path / "other"
    other.mkdir()
    ledger.index.remember_root(other)
    ledger.index.remember_root(runs_root(tmp_path))
    assert workspace_roots(ledger.index, tmp_path) == [runs_root(tmp_path), other]


def test_a_task_that_became_a_link_is_a_problem_and_not_a_title(tmp_path: Path, ledger: Ledger) -> None:
    result = agent_in(tmp_path, [says("done")]).run("One.", run_id="run_1")
    prompt = Path(result.wal_locator).parent / "prompt.md"
    prompt.unlink()
    prompt.symlink_to("/etc/hostname")
    report = refresh(ledger.index, [runs_root(tmp_path)], log_ports())
    assert [problem.kind for problem in report.problems] == ["permission"]
    assert ledger.index.list() == ()
