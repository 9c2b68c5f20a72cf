"""Skills and prompts in a run: what the model is told, and that it stays told."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.ports import Question
from skills_runtime.runs import runs_root
from skills_runtime.testing import FakeModel, says
from tests.support.agents import agent_in, calls, payloads_of

SKILLS = {
    "spaces": [{"id": "s", "namespace": "web:mvp", "sources": ["f"]}],
    "sources": [{"id": "f", "type": "filesystem", "options": {"root": "skills"}}],
    "references": {"enabled": True},
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    skill = tmp_path / "skills" / "writer"
    (skill / "references").mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: writer\ndescription: Writes.\n---\n\n# How to write\n\nBriefly.\n")
    (skill / "references" / "style.md").write_text("no adverbs\n")
    return tmp_path


def texts(model: FakeModel, request: int = 0) -> list[str]:
    """The texts of a request, without calls and results."""
    return [
        str(message["content"]) for message in model.requests[request].messages if message["role"] in ("system", "user")
    ]


def test_a_mentioned_skill_stands_before_the_task_in_every_request(directory: Path) -> None:
    model = FakeModel([calls(("list_dir", {"dir_path": "."})), says("done")])
    result = agent_in(directory, model, settings={"skills": SKILLS}).run("Use $[web:mvp].writer now.")
    assert result.status == "completed"
    for number in (0, 1):
        system, skill, task = texts(model, number)
        assert "Briefly." in skill
        assert task == "Use $[web:mvp].writer now."
        assert "writer" in system
    (injected,) = payloads_of(result.wal_locator, "skill_injected")
    assert (injected.skill_name, injected.mention_text) == ("writer", "$[web:mvp].writer")


def test_a_skill_is_reported_again_after_a_restart_as_it_was(directory: Path) -> None:
    first = agent_in(directory, FakeModel([calls(("list_dir", {"dir_path": "."}))]), settings={"skills": SKILLS})
    with pytest.raises(KeyboardInterrupt):
        _interrupted(first)
    (directory / "skills" / "writer" / "SKILL.md").write_text(
        "---\nname: writer\ndescription: Writes.\n---\nChanged.\n"
    )
    model = FakeModel([calls(("list_dir", {"dir_path": "."})), says("done")])
    assert agent_in(directory, model, settings={"skills": SKILLS}).run("", run_id="one").status == "completed"
    assert "Briefly." in texts(model)[1]


def _interrupted(agent: Any) -> None:
    """Run until the first result, then die as a process dies."""

    def die(event: Any) -> None:
        if event.type == "tool_call_finished":
            raise KeyboardInterrupt

    agent._options = msgspec.structs.replace(agent._options, hooks=(die,))
    agent.run("Use $[web:mvp].writer now.", run_id="one")


def test_a_mention_that_names_no_skill_leaves_no_run(directory: Path) -> None:
    agent = agent_in(directory, FakeModel([says("never")]), settings={"skills": SKILLS})
    with pytest.raises(SkillsRuntimeError, match="writter"):
        agent.run("Use $[web:mvp].writter now.")
    assert not runs_root(directory).exists()


def test_a_reference_of_a_skill_can_be_read(directory: Path) -> None:
    expected = {"skill_mention": "$[web:mvp].writer", "ref_path": "references/style.md"}
    model = FakeModel([calls(("skill_ref_read", expected)), says("done")])
    agent_in(directory, model, settings={"skills": SKILLS}).run("Look it up.")
    assert "no adverbs" in str(model.requests[1].messages[-1]["content"])


def test_a_profile_without_tools_offers_none(directory: Path) -> None:
    model = FakeModel([says("done")])
    agent_in(directory, model, settings={"prompt": {"profile": "generation_direct"}}).run("Say it.")
    assert list(model.requests[0].tools) == []


def test_explicit_exposure_offers_the_tools_the_task_names(directory: Path) -> None:
    model = FakeModel([says("done")])
    settings = {"prompt": {"tools": {"exposure": "explicit_only"}}}
    agent_in(directory, model, settings=settings).run("Use list_dir only.")
    assert [tool["name"] for tool in model.requests[0].tools] == ["list_dir"]


class Knowing:
    """Somebody who knows the value of every variable."""

    async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
        """Give it away."""
        return f"value of {question.id}"


def test_a_variable_a_skill_needs_is_asked_for_and_never_recorded(directory: Path) -> None:
    (directory / "skills" / "writer" / "agents").mkdir()
    (directory / "skills" / "writer" / "agents" / "openai.yaml").write_text(
        "dependencies:\n  tools:\n    - {type: env_var, value: WRITER_TOKEN}\n"
    )
    model = FakeModel([says("done")])
    agent = agent_in(directory, model, settings={"skills": SKILLS})
    with pytest.raises(SkillsRuntimeError, match="WRITER_TOKEN"):
        agent.run("Use $[web:mvp].writer now.")
    asking = agent_in(directory, model, settings={"skills": SKILLS}, human=Knowing())
    result = asking.run("Use $[web:mvp].writer now.")
    assert result.status == "completed"
    assert "value of WRITER_TOKEN" not in Path(result.wal_locator).read_text()
    for kind in ("env_var_required", "env_var_set"):
        assert [payload.env_var for payload in payloads_of(result.wal_locator, kind)] == ["WRITER_TOKEN"]


def test_text_beside_a_call_is_kept_and_the_task_is_not_repeated(directory: Path) -> None:
    model = FakeModel([calls(("list_dir", {"dir_path": "."}), text="Let me look."), says("done")])
    agent_in(directory, model).run("Go.")
    first, second = (model.requests[number].messages for number in (0, 1))
    assert list(second[: len(first)]) == list(first)
    assert second[len(first)]["content"] == "Let me look."
    assert [message for message in second if message["content"] == "Go."] == [first[-1]]
