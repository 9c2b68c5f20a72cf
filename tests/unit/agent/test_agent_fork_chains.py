"""Forks of forks: however long the line is, each stands on all before it."""

import asyncio
from pathlib import Path

import pytest

from skills_runtime.agent.loop.model_call import Prompt
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.errors import NotFound
from skills_runtime.events.payloads import ForkPoint
from skills_runtime.llm import ScriptedBackend
from skills_runtime.runs import Run, RunPaths, read_view, verify_run
from skills_runtime.runs.fork import ancestors, build_initial_view
from skills_runtime.testing import says
from tests.support.agents import agent_in, calls, events_of, writes

GENERATIONS = 120


def test_a_fork_reads_what_its_hundredth_ancestor_kept(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, ScriptedBackend([calls(writes("a", "kept long ago")), says("done"), says("the end")]))
    result = agent.run("Go.")
    path, last = Path(result.wal_locator).parent, events_of(result.wal_locator)[-1].seq
    for _ in range(GENERATIONS):
        fork = agent.fork(path, last)
        last = fork.state.last_seq
        fork.close()
        path = fork.paths.root
    youngest: Run = agent.fork(path, last, prompt="And now?")
    text = str(Prompt("", youngest.blobs.get).messages(youngest.view.conversation))
    assert asyncio.run(agent.execute(youngest)).final_output == "the end"
    assert "kept long ago" in text
    assert len(list(ancestors(youngest.state.fork))) == GENERATIONS + 1
    assert read_view(youngest.paths, log_ports()).conversation.answers == 3
    assert verify_run(youngest.paths.root, log_ports().keys).findings == []


def test_of_a_line_whose_first_run_is_gone_that_one_is_named(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, [says("done"), says("more")])
    first = RunPaths(Path(agent.run("Go.", run_id="first").wal_locator).parent)
    middle = agent.fork(first.root, 3, run_id="middle")
    youngest = agent.fork(middle.paths.root, 0, run_id="youngest")
    for run in (middle, youngest):
        run.close()
    first.root.rename(tmp_path / "elsewhere")
    with pytest.raises(NotFound, match="`first` this one was forked from is no longer at"):
        read_view(youngest.paths, log_ports())


def test_a_run_that_claims_to_be_a_fork_of_itself_is_no_way_without_an_end(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, [says("done")])
    fork = agent.fork(Path(agent.run("Go.").wal_locator).parent, 3)
    fork.close()
    log = fork.paths.events
    point = fork.state.fork
    assert point is not None
    log.write_bytes(log.read_bytes().replace(point.root.encode(), str(fork.paths.root).encode()))
    forged = ForkPoint(run_id="x", root=str(fork.paths.root), seq=0, offset=0, prefix_sha256="")
    assert len(list(ancestors(forged))) == 1
    with pytest.raises(NotFound):
        build_initial_view(forged, log_ports())
