"""The commands that go on from a run which is there, and compare: resume, fork, replay, diff."""

import shutil
from pathlib import Path

import pytest

from skills_runtime.runs import RunPaths, read_events
from tests.e2e.cli.programs import invoke, say, write, write_config

SCRIPT = (say("", write("deliverables/report.md", "# Report\n")), say("Done."), say("More."))


@pytest.fixture
def alpha(workspace: Path) -> Path:
    """A finished run."""
    write_config(workspace, *SCRIPT)
    answer = invoke("run", "-p", "Report", "--config", "kgent.yaml", "--sandbox", "runs/alpha", "-q")
    assert answer.code == 0, answer.err
    return workspace / "runs" / "alpha"


def interrupted(run: Path, after: str) -> Path:
    """The run as a machine left it that stopped after the first event of this type."""
    lines = (run / "events.jsonl").read_bytes().splitlines(keepends=True)
    types = [event.type for event in read_events(RunPaths(run))]
    (run / "events.jsonl").write_bytes(b"".join(lines[: types.index(after) + 1]))
    return run


@pytest.mark.parametrize("after", ["run_started", "llm_response_finished", "tool_call_started", "tool_call_finished"])
def test_an_interrupted_run_is_resumed_to_its_end(alpha: Path, after: str) -> None:
    interrupted(alpha, after)
    answer = invoke("runs", "resume", "runs/alpha")
    assert (answer.code, answer.out) == (0, "Done.\n"), answer.err
    assert invoke("verify", "runs/alpha").code == 0


def test_a_run_that_has_ended_is_not_resumed_but_can_be_forked(alpha: Path) -> None:
    refused = invoke("runs", "resume", "alpha")
    assert refused.code == 20
    assert "log_ended" in refused.err
    forked = invoke("runs", "fork", "alpha", "--prompt", "And more?", "--run-id", "beta")
    assert (forked.code, forked.out) == (0, "More.\n"), forked.err
    assert invoke("verify", "beta").code == 0


def test_a_fork_at_an_event_keeps_its_session_and_names_its_parent(alpha: Path) -> None:
    forked = invoke("runs", "fork", "runs/alpha", "--at", "3", "--sandbox", "runs/beta", "-q")
    assert forked.code == 0, forked.err
    parent, child = ((alpha.parent / name / "run.json").read_text(encoding="utf-8") for name in ("alpha", "beta"))
    session = next(line for line in parent.splitlines() if '"session_id"' in line)
    assert session in child
    assert '"parent_run_id": "alpha"' in child


def test_a_fork_at_an_event_that_is_not_there_leaves_nothing_behind(alpha: Path) -> None:
    refused = invoke("runs", "fork", "runs/alpha", "--at", "999", "--sandbox", "runs/beta")
    assert refused.code == 20
    assert "has no event 999" in refused.err
    assert not (alpha.parent / "beta").exists()


def test_a_copy_of_a_run_can_be_resumed_beside_the_one_the_index_knows(alpha: Path) -> None:
    copy = alpha.parent / "copy"
    shutil.copytree(alpha, copy)
    interrupted(copy, "run_started")
    assert invoke("runs", "resume", "runs/copy", "-q").code == 0
    assert invoke("verify", "runs/copy").code == 0


def test_a_run_signed_elsewhere_is_resumed_only_when_adopted(alpha: Path, home: Path) -> None:
    interrupted(alpha, "llm_response_finished")
    (key,) = home.rglob("log.key")
    key.unlink()
    refused = invoke("runs", "resume", "runs/alpha")
    assert (refused.code, "key_missing" in refused.err) == (20, True), refused.err
    adopted = invoke("runs", "resume", "runs/alpha", "--adopt", "-q")
    assert adopted.code == 0, adopted.err
    types = [event.type for event in read_events(RunPaths(alpha))]
    assert "run_adopted" in types


def test_an_adopted_run_writes_into_the_workspace_of_the_caller(
    workspace: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_config(workspace, say("", write("left.txt")), say("Done."), sandbox={"workspace": "shared"})
    assert invoke("run", "-p", "Go", "--config", "kgent.yaml", "--run-id", "alpha", "-q").code == 0
    given = workspace.parent / "given"
    shutil.copytree(workspace / ".skills_runtime_sdk/runs/alpha", given / "alpha")
    interrupted(given / "alpha", "run_started")
    (workspace / "left.txt").unlink()
    (key,) = home.rglob("log.key")
    key.unlink()
    mine = workspace.parent / "mine"
    mine.mkdir()
    monkeypatch.chdir(mine)
    unconfigured = invoke("runs", "resume", str(given / "alpha"), "--adopt", "-q")
    assert "the model has no key" in unconfigured.err, "its own configuration does not count"
    own = ("--config", str(given / "alpha/config.yaml"))
    adopted = invoke("runs", "resume", str(given / "alpha"), "--adopt", "-q", *own)
    assert adopted.code == 0, adopted.err
    assert (mine / "left.txt").exists()
    assert not (workspace / "left.txt").exists()


def test_a_run_replays_without_divergence_and_touches_nothing(alpha: Path) -> None:
    before = (alpha / "events.jsonl").read_bytes()
    answer = invoke("runs", "replay", "runs/alpha")
    assert (answer.code, answer.out) == (0, "no divergence\n"), answer.err
    assert (alpha / "events.jsonl").read_bytes() == before
    assert [one.name for one in alpha.parent.iterdir()] == ["alpha"]


def test_an_interrupted_run_replays_as_far_as_it_goes(alpha: Path) -> None:
    interrupted(alpha, "tool_call_finished")
    assert invoke("runs", "replay", "runs/alpha").out == "no divergence\n"


def test_a_replay_reports_the_first_difference(alpha: Path) -> None:
    answer = invoke(
        "runs", "replay", "runs/alpha", "--set", "run.max_steps=1", "--set", "safety.tool_denylist=[file_write]"
    )
    assert answer.code == 1
    assert answer.out.startswith("action 3 differs\n- result ")


def test_two_runs_of_one_script_do_not_differ(alpha: Path) -> None:
    invoke("run", "-p", "Report", "--config", "kgent.yaml", "--sandbox", "runs/beta", "-q")
    answer = invoke("runs", "diff", "runs/alpha", "runs/beta")
    assert (answer.code, answer.out) == (0, ""), answer.err


def test_a_fork_differs_by_what_came_after(alpha: Path) -> None:
    invoke("runs", "fork", "alpha", "--at", "3", "--prompt", "Report!", "--sandbox", "runs/beta", "-q")
    answer = invoke("runs", "diff", "runs/alpha", "runs/beta")
    assert answer.code == 1
    assert '-task   "Report"\n+task   "Report!"' in answer.out
