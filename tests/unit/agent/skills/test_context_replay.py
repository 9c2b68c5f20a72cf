"""A run that took up skills on its way is replayed with them, whatever has become of them since."""

import asyncio
import shutil
from pathlib import Path

import pytest

from skills_runtime.config import resolve
from skills_runtime.engine.replay import replay
from skills_runtime.testing import FakeModel, says
from tests.support.agents import agent_in, calls
from tests.unit.agent.skills.test_context_inbox import SKILLS, Steered
from tests.unit.skills.samples import make_skill, skill_text


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    make_skill(tmp_path / "skills", "writer", text=skill_text(body="BRIEFLY.\n"))
    return tmp_path


async def diverges(directory: Path, locator: str) -> bool:
    resolved = resolve(directory, session_settings={"safety": {"mode": "allow"}, "skills": SKILLS})
    return await replay(Path(locator).parent, resolved) is not None


@pytest.mark.parametrize("is_present", [True, False], ids=["kept", "removed"])
async def test_a_skill_mentioned_in_a_message_is_replayed(directory: Path, *, is_present: bool) -> None:
    steered = await asyncio.to_thread(Steered, directory, "/writer SOON")
    assert len(steered.texts()) == 3
    if not is_present:
        shutil.rmtree(directory / "skills" / "writer")
    assert not await diverges(directory, steered.result.wal_locator)


@pytest.mark.parametrize("is_present", [True, False], ids=["kept", "removed"])
async def test_a_skill_the_model_activates_and_unloads_is_replayed(directory: Path, *, is_present: bool) -> None:
    expected = [("activate_skill", {"name": "writer"}), ("unload_skill", {"name": "writer"})]
    model = FakeModel([*(calls(call) for call in expected), says("done")])
    agent = agent_in(directory, model, settings={"skills": SKILLS})
    result = await asyncio.to_thread(agent.run, "Go.")
    assert "BRIEFLY" in str(model.requests[1].messages)
    if not is_present:
        shutil.rmtree(directory / "skills" / "writer")
    assert not await diverges(directory, result.wal_locator)


async def test_one_that_the_task_mentions(directory: Path) -> None:
    agent = agent_in(directory, FakeModel([says("done")]), settings={"skills": SKILLS})
    result = await asyncio.to_thread(agent.run, "Use $writer.")
    assert not await diverges(directory, result.wal_locator)
