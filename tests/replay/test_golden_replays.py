"""Golden runs of every version are replayed without a difference, and forked at every event that can be verified."""

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.config import resolve
from skills_runtime.engine.replay import Divergence, replay
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.llm import ScriptedBackend
from skills_runtime.projections import RunView, fold
from skills_runtime.runs import RunPaths, read_events, read_verified, read_view, runs_root, verify_run
from skills_runtime.runs.layout import SUBDIRECTORIES
from skills_runtime.testing import FakeModel, says
from tests.replay.make_agent_golden import AGENT, RUN_ID, SETTINGS, SUMMARY, agent_for, make
from tests.replay.make_golden import GOLDEN
from tests.support.agents import Person, calls
from tests.support.events import check_request
from tests.support.runs import story_of

OLD = GOLDEN.parent / "v0"
ALLOWED: Mapping[str, Any] = {"safety": {"mode": "allow"}}
EVENTS = {"complete": 23, "future": 6, "agent": 71}


def golden(name: str, parent: Path) -> Path:
    """A golden run of version 1, with the empty directories that git does not keep."""
    root = parent / name
    shutil.copytree(GOLDEN / name, root)
    for directory in SUBDIRECTORIES:
        (root / directory).mkdir(exist_ok=True)
    return root


def old_run(name: str, directory: Path) -> Path:
    """A run of version 0, of which there is nothing but the log."""
    root = directory / name
    root.mkdir()
    shutil.copy(OLD / f"{name}.jsonl", root / "events.jsonl")
    return root


@pytest.fixture
def golden_keys(home: Path) -> None:
    """The golden key is the key of this machine."""
    keys = home / ".local/state/skills_runtime/keys"
    keys.parent.mkdir(parents=True)
    shutil.copytree(GOLDEN / "keys", keys)
    keys.chmod(0o700)
    (keys / "log.key").chmod(0o600)


def replayed(root: Path, workspace: Path, settings: Mapping[str, Any] = ALLOWED) -> Divergence | None:
    workspace.mkdir(exist_ok=True)
    return asyncio.run(replay(root, resolve(workspace, session_settings=settings)))


@pytest.mark.parametrize("name", ["completed", "waiting"])
def test_a_run_of_version_0_is_replayed_without_a_difference(tmp_path: Path, name: str) -> None:
    assert replayed(old_run(name, tmp_path), tmp_path / "workspace") is None


@pytest.mark.parametrize("name", ["complete", "future"])
def test_a_run_of_version_1_is_replayed_without_a_difference(tmp_path: Path, name: str) -> None:
    assert replayed(golden(name, tmp_path), tmp_path / "workspace") is None


def test_a_run_with_a_bit_of_everything_is_replayed_without_a_difference(tmp_path: Path) -> None:
    assert replayed(golden("agent", tmp_path), tmp_path / "workspace", SETTINGS) is None


def test_a_replay_leaves_the_recording_and_the_workspace_alone(tmp_path: Path) -> None:
    root = golden("agent", tmp_path)
    before = (root / "events.jsonl").read_bytes()
    replayed(root, tmp_path / "workspace", SETTINGS)
    assert (root / "events.jsonl").read_bytes() == before
    assert list((tmp_path / "workspace").rglob("*.txt")) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"text":"I make a plan."', b'"text":"I make no plan."'),
        (b'"stdout":"wave 1"', b'"stdout":"wave 9"'),
    ],
    ids=["an answer", "a result"],
)
def test_what_a_replay_does_with_a_changed_recording_is_what_the_recording_says(
    tmp_path: Path, old: bytes, new: bytes
) -> None:
    """The recording is the script: what was recorded is what happens, so that only the code can differ."""
    root = golden("agent", tmp_path)
    log = root / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(old, new))
    assert replayed(root, tmp_path / "workspace", SETTINGS) is None


def test_a_replay_with_other_rules_differs_where_they_matter(tmp_path: Path) -> None:
    divergence = replayed(golden("agent", tmp_path), tmp_path / "workspace", {**SETTINGS, "safety": {"mode": "deny"}})
    assert divergence is not None
    assert divergence.recorded is not None
    assert divergence.replayed is not None
    assert "denied by safety.mode" in divergence.replayed


def test_the_golden_agent_run_is_what_today_s_code_would_do(tmp_path: Path) -> None:
    ours, theirs = (list(read_events(RunPaths(root))) for root in (make(tmp_path), AGENT))
    assert story_of(ours) == story_of(theirs)


@pytest.mark.usefixtures("golden_keys")
def test_the_golden_agent_run_passes_verification_and_loads(tmp_path: Path) -> None:
    root = golden("agent", tmp_path)
    assert [finding for finding in verify_run(root, log_ports().keys).findings if finding.severity == "error"] == []
    view = fold(read_verified(RunPaths(root), log_ports().keys), RunView())
    assert (view.state.status, view.state.last_seq, view.state.inbox_position) == ("completed", 70, 3)
    assert (view.conversation.compactions, view.conversation.rejections) == (2, 1)
    assert SUMMARY in str(view.conversation.messages)


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.usefixtures("golden_keys")
def test_a_fork_at_every_event_of_a_golden_run_runs_to_its_end_and_shares_the_beginning(
    tmp_path: Path, name: str, subtests: pytest.Subtests
) -> None:
    root = golden(name, tmp_path)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    events = list(read_events(RunPaths(root)))
    assert len(events) == EVENTS[name]
    for event in events:
        with subtests.test(f"{event.seq} {event.type}"):
            _check_fork(workspace, root, event.seq)


def _check_fork(workspace: Path, root: Path, seq: int) -> None:
    watched = FakeModel([calls(("file_read", {"path": "nothing"})), *[says('{"haiku": "end"}')] * 12])
    agent = Agent(workspace_root=workspace, backend=watched, session_settings=ALLOWED, human_io=Person("no"))
    before = fold((event for event in read_events(RunPaths(root)) if event.seq <= seq), RunView())
    fork = agent.fork(root, seq, run_id=f"fork-{seq}", prompt=before.state.task or None)
    assert fork.view.conversation.messages == before.conversation.messages
    assert (fork.state.turns, fork.state.steps) == (before.state.turns, before.state.steps)
    result = asyncio.run(agent.execute(fork))
    assert (result.status, result.error_kind) == ("completed", None)
    for request in watched.requests:
        check_request(request)
    assert verify_run(fork.paths.root, log_ports().keys).findings == []
    assert (runs_root(workspace) / f"fork-{seq}" / "events.jsonl").stat().st_size < 100_000
    after = read_view(fork.paths, log_ports()).conversation
    if not before.conversation.open_calls:
        assert after.messages[: len(before.conversation.messages)] == before.conversation.messages
    numbers = [event.turn_id for event in read_events(fork.paths) if event.type == "llm_request_started"]
    taken = {event.turn_id for event in read_events(RunPaths(root)) if event.seq <= seq}
    assert not taken & set(numbers)


@pytest.mark.usefixtures("golden_keys")
def test_the_same_agent_goes_on_with_a_fork_as_the_run_itself_went_on(tmp_path: Path) -> None:
    """A fork in the middle, with the same script and the same answer of a person, ends as the run ended."""
    root = golden("agent", tmp_path)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    agent = agent_for(workspace)
    result = asyncio.run(agent.execute(agent.fork(root, 40)))
    assert (result.status, result.output) == ("completed", {"haiku": "waves"})


@pytest.mark.usefixtures("golden_keys")
def test_a_run_of_version_0_cannot_be_verified_and_so_not_forked(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    agent = Agent(workspace_root=workspace, backend=ScriptedBackend([says("x")]))
    with pytest.raises(SkillsRuntimeError, match="older"):
        agent.fork(old_run("completed", tmp_path), 3)
    assert not runs_root(workspace).exists()


def test_the_golden_run_is_named_as_its_maker_names_it() -> None:
    assert AGENT.name == RUN_ID
