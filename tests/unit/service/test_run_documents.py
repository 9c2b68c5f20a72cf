"""A run that its process left behind is told from one that somebody works on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from skills_runtime.engine.recovery import PROCESS_GONE, explain_orphaned
from skills_runtime.events.states import RunStatus
from skills_runtime.projections import RunState
from skills_runtime.runs import RunPaths

RUNNING = RunState(run_id="r", status=RunStatus.RUNNING)


def _paths(directory: Path, holder: str) -> RunPaths:
    (directory / "run.lock").write_text(f"{holder:<19}\n")
    return RunPaths(directory)


@pytest.fixture
def gone() -> str:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return str(process.pid)


def test_a_run_whose_process_has_ended_is_orphaned(tmp_path: Path, gone: str) -> None:
    assert explain_orphaned(_paths(tmp_path, gone), RUNNING) == PROCESS_GONE


def test_a_run_whose_process_lives_is_not_orphaned(tmp_path: Path) -> None:
    assert explain_orphaned(_paths(tmp_path, str(os.getpid())), RUNNING) is None


def test_reading_the_state_takes_no_lock(tmp_path: Path, gone: str) -> None:
    paths = _paths(tmp_path, gone)
    before = paths.lock.read_bytes()
    explain_orphaned(paths, RUNNING)
    assert paths.lock.read_bytes() == before


@pytest.mark.parametrize("status", ["waiting_for_user", "review_required", "completed", "failed", "cancelled"])
def test_a_run_that_waits_or_has_ended_needs_no_process(tmp_path: Path, gone: str, status: str) -> None:
    assert explain_orphaned(_paths(tmp_path, gone), RunState(run_id="r", status=RunStatus(status))) is None


@pytest.mark.parametrize("holder", ["", "no number", "0", "-1"])
def test_a_lock_without_a_process_id_says_nothing(tmp_path: Path, holder: str) -> None:
    assert explain_orphaned(_paths(tmp_path, holder), RUNNING) is None


def test_an_impossible_process_id_is_no_process(tmp_path: Path) -> None:
    assert explain_orphaned(_paths(tmp_path, "9" * 19), RUNNING) == PROCESS_GONE


def test_a_run_without_a_lock_says_nothing(tmp_path: Path) -> None:
    assert explain_orphaned(RunPaths(tmp_path), RUNNING) is None
