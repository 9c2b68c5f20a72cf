"""Replaying a run: the same answers again, from its log."""

from pathlib import Path

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.run_defaults import read_recording, replay_backend
from skills_runtime.errors import ConfigError, SkillsRuntimeError
from skills_runtime.testing import FakeModel, says
from tests.support.agents import agent_in, calls, payloads_of, writes

SCRIPT = [
    calls(writes("a.txt", "geheim ü"), ("no_such_tool", "{broken"), text="First "),
    calls(("file_read", {"path": "a.txt"})),
    says("All ", "done."),
]


def test_a_replayed_run_gives_the_same_answers_and_has_the_same_effects(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    recorded = agent_in(tmp_path / "one", FakeModel(SCRIPT)).run("Go.")
    root = Path(recorded.wal_locator).parent
    again = agent_in(tmp_path / "two", replay_backend(root, read_recording(root))).run("Go.")
    assert (again.status, again.final_output) == (recorded.status, recorded.final_output)
    assert (tmp_path / "two" / "a.txt").read_text() == "geheim ü"
    for kind in ("tool_call_requested", "llm_response_delta"):
        assert payloads_of(again.wal_locator, kind) == payloads_of(recorded.wal_locator, kind)


def test_an_answer_that_broke_off_is_not_replayed(tmp_path: Path) -> None:
    result = agent_in(tmp_path, FakeModel([calls(writes("a", "x"))])).run("Go.")
    assert result.status == "failed"
    assert read_recording(Path(result.wal_locator).parent).conversation.answers == 1


def test_a_run_is_replayed_by_configuration(tmp_path: Path) -> None:
    recorded = agent_in(tmp_path, [says("the answer")]).run("Go.")
    settings = {"llm": {"backend": "replay", "replay": {"run": str(Path(recorded.wal_locator).parent)}}}
    again = Agent(workspace_root=tmp_path, session_settings=settings).run("Go.")
    assert again.final_output == "the answer"


@pytest.mark.parametrize("run", [None, "nowhere"])
def test_a_replay_without_a_run_is_refused_and_leaves_no_run(tmp_path: Path, run: str | None) -> None:
    replay = {} if run is None else {"run": str(tmp_path / run)}
    agent = Agent(workspace_root=tmp_path, session_settings={"llm": {"backend": "replay", "replay": replay}})
    with pytest.raises((ConfigError, SkillsRuntimeError)):
        agent.run("Go.")
    assert not list(tmp_path.iterdir())
