"""An approval outlives kill -9: decided by another process a day later, it lets exactly the approved call run."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from skills_runtime.agent.run_ports import log_ports
from skills_runtime.projections import RunView
from skills_runtime.runs import RunPaths, read_view, runs_root
from tests.support.agents import payloads_of

REPOSITORY = Path(__file__).parents[2]


class Place:
    """A workspace whose agents are processes of their own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths = RunPaths(runs_root(root) / "r")
        self.script = root / "do.sh"
        self.script.write_text("echo once >> done.txt\n")

    def start(self, what: str, *, days: float = 0) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.e2e.approval_process", str(self.root), str(days), what]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY)

    def finish(self, what: str, *, days: float = 0) -> str:
        process = self.start(what, days=days)
        out, told = process.communicate(timeout=60)
        assert process.returncode == 0, told
        return out.strip()

    def killed_while_asking(self) -> None:
        process = self.start("think")
        assert process.stdout is not None
        assert process.stdout.readline() == "asked\n"
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
        process.communicate()

    def view(self) -> RunView:
        return read_view(self.paths, log_ports())

    def times(self) -> int:
        done = self.root / "done.txt"
        return done.read_text().count("once") if done.exists() else 0


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_killed_run_goes_on_with_a_decision_of_the_next_day(place: Place) -> None:
    place.killed_while_asking()
    assert len(place.view().pending.approvals.open) == 1
    place.finish("decide", days=1)
    assert place.finish("inbox", days=1) == "completed"
    assert place.times() == 1
    (decided,) = payloads_of(str(place.paths.events), "approval_decided")
    (asked,) = payloads_of(str(place.paths.events), "approval_requested")
    assert (decided.approval_id, decided.approval_key) == (asked.approval_id, asked.approval_key)


def test_a_script_that_changed_meanwhile_is_not_run_by_the_old_decision(place: Place) -> None:
    place.killed_while_asking()
    place.finish("decide")
    place.script.write_text("echo twice >> done.txt\n")
    assert place.finish("inbox") == "waiting_human"
    assert place.times() == 0
    assert [one.reason for one in payloads_of(str(place.paths.events), "approval_refused")] == ["changed"]
    place.finish("decide")
    assert place.finish("inbox") == "completed"
    assert (place.root / "done.txt").read_text() == "twice\n"


def test_a_decision_after_the_request_has_expired_is_refused(place: Place) -> None:
    place.killed_while_asking()
    process = place.start("decide", days=30)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, "could be decided until" in told) == (1, True)
    assert place.times() == 0
    assert place.finish("inbox", days=30) == "waiting_human"
    assert [one.reason for one in payloads_of(str(place.paths.events), "approval_refused")] == ["expired"]


def test_a_killed_run_goes_on_with_a_decision_of_the_same_day(place: Place) -> None:
    place.killed_while_asking()
    place.finish("decide")
    assert place.finish("inbox") == "completed"
    assert place.times() == 1
