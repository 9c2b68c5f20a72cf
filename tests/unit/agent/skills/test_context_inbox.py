"""Skills that somebody mentions to a run at work: they are there at the next turn, or it is told why not."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent
from skills_runtime.events import Event
from skills_runtime.ports import ToolContext, ToolResult
from skills_runtime.testing import FakeModel, says
from skills_runtime.testing.inbox import InMemoryInbox
from tests.support.agents import Doing, calls, payloads_of
from tests.support.events import check_request
from tests.unit.skills.samples import make_skill, skill_text

RUN_ID = "run_1"
SKILLS = {
    "spaces": [{"id": "s", "namespace": "web:mvp", "sources": ["f"]}],
    "sources": [{"id": "f", "type": "filesystem", "options": {"root": "skills"}}],
    "discovery": {"enabled": False},
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    make_skill(tmp_path / "skills", "writer", text=skill_text(extra="allowed-tools: Read\n", body="BRIEFLY $1.\n"))
    forked = skill_text("forked", extra="context: fork\n", body="APART\n")
    make_skill(tmp_path / "skills", "forked", text=forked)
    needy = make_skill(tmp_path / "skills", "needy", text=skill_text("needy", body="NEEDS\n"))
    (needy / "agents").mkdir()
    (needy / "agents/openai.yaml").write_text("dependencies: {tools: [{type: env_var, value: A_KEY}]}\n")
    return tmp_path


class Steered:
    """A run that is told something during its first call."""

    def __init__(self, directory: Path, *messages: str, task: str = "Go.", **settings: Any) -> None:
        inbox = InMemoryInbox()

        async def work(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
            for text in messages:
                inbox.send(RUN_ID, "steer", {"text": text})
            return ToolResult(ok=True)

        self.model = FakeModel([calls(("talk", {})), says("done")])
        result = {"safety": {"mode": "allow"}, "skills": SKILLS, **settings}
        agent = Agent(workspace_root=directory, backend=self.model, session_settings=result, inbox=inbox)
        agent.register_tool(Doing(work, name="talk"))
        self.result = agent.run(task, run_id=RUN_ID)
        assert self.result.status == "completed"
        for request in self.model.requests:
            check_request(request)

    def texts(self) -> list[str]:
        """What the model was told after the call."""
        return [str(message["content"]) for message in self.model.requests[1].messages if message["role"] == "user"]

    def events(self, kind: str) -> list[Any]:
        return list(payloads_of(self.result.wal_locator, kind))


@pytest.mark.parametrize("form", ["/writer SOON", "now use $writer", "$[web:mvp].writer", "[$writer](skills/writer)"])
def test_a_skill_stands_before_the_message_that_mentions_it(directory: Path, form: str) -> None:
    steered = Steered(directory, form)
    task, skill, message = steered.texts()
    assert (task, message) == ("Go.", form)
    assert "BRIEFLY" in skill
    (injected,) = steered.events("skill_injected")
    assert injected.mention_text == "$[web:mvp].writer"
    assert [permit["text"].count("file_read") for permit in injected.permits] == [1]
    assert not steered.events("skill_injection_skipped")


def test_what_stands_behind_its_name_is_given_to_it(directory: Path) -> None:
    assert "BRIEFLY SOON." in Steered(directory, "/writer SOON").texts()[1]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("use $writre", "`$writre` was left as it is"),
        ("/nosuch x", "`/nosuch` was left as it is"),
        ("use $[web:mvp].nosuch and $writer", "no skill was activated: "),
        ("/forked x", "activate it with `activate_skill`"),
        ("/needy x", "A_KEY"),
    ],
)
@pytest.mark.parametrize("policy", ["fail_fast", "ask_human", "skip_skill"])
def test_one_that_cannot_be_had_is_reported_and_the_run_continues(
    directory: Path, message: str, reason: str, policy: str
) -> None:
    steered = Steered(directory, message, skills={**SKILLS, "env_var_missing_policy": policy})
    assert steered.texts() == ["Go.", message]
    (skipped,) = steered.events("skill_injection_skipped")
    assert reason in f"{skipped.reason} {skipped.missing_env_vars}"
    assert not steered.events("skill_injected")


def test_one_that_is_active_is_not_reported_again(directory: Path) -> None:
    steered = Steered(directory, "use $writer", "and $writer again", task="Use $writer.")
    assert len(steered.events("skill_injected")) == 1
    assert sum("BRIEFLY" in text for text in steered.texts()) == 1


def test_several_messages_have_their_skills_each_before_it(directory: Path) -> None:
    make_skill(directory / "skills", "reader", text=skill_text("reader", body="ALOUD\n"))
    texts = Steered(directory, "/writer a", "/reader b").texts()
    assert ["BRIEFLY" in texts[1], texts[2], "ALOUD" in texts[3], texts[4]] == [True, "/writer a", True, "/reader b"]


def test_where_no_skills_are_injected_a_message_is_only_text(directory: Path) -> None:
    steered = Steered(directory, "use $writer", prompt={"skill_injection": {"mode": "none"}})
    assert steered.texts() == ["Go.", "use $writer"]
    assert not steered.events("skill_injection_skipped")


def test_a_message_of_a_run_without_any_skills_is_reported_as_well(tmp_path: Path) -> None:
    steered = Steered(tmp_path, "/nosuch x", skills={"discovery": {"enabled": False}})
    assert [event.skill_name for event in steered.events("skill_injection_skipped")] == ["nosuch"]


def test_a_process_that_dies_between_a_skill_and_its_message_leaves_each_to_be_reported_once(directory: Path) -> None:
    def die(event: Event) -> None:
        if event.type == "skill_injected":
            raise KeyboardInterrupt

    inbox, settings = InMemoryInbox(), {"safety": {"mode": "allow"}, "skills": SKILLS}
    inbox.send(RUN_ID, "steer", {"text": "/writer SOON"})
    first = Agent(
        workspace_root=directory, backend=FakeModel([]), session_settings=settings, inbox=inbox, event_hooks=(die,)
    )
    with pytest.raises(KeyboardInterrupt):
        first.run("Go.", run_id=RUN_ID)
    model = FakeModel([says("done")])
    second = Agent(workspace_root=directory, backend=model, session_settings=settings, inbox=inbox)
    result = second.run("", run_id=RUN_ID)
    assert result.status == "completed"
    texts = [str(message["content"]) for message in model.requests[0].messages if message["role"] == "user"]
    assert ["BRIEFLY SOON." in texts[0], *texts[1:]] == [True, "Go.", "/writer SOON"]
    assert len(list(payloads_of(result.wal_locator, "skill_injected"))) == 1


def test_money_and_paths_are_no_mentions(directory: Path) -> None:
    steered = Steered(directory, "it costs $5, see docs/a.md or /tmp/x")
    assert not steered.events("skill_injection_skipped")
