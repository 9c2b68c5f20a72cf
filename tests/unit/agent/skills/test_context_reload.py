"""Skills that come, change and go while a run is at work: noted once, told at the end of the conversation."""

import asyncio
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.loop.control import Control
from skills_runtime.agent.options import RunRequest
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.agent.skills import context
from skills_runtime.config import resolve
from skills_runtime.engine.replay import replay
from skills_runtime.events import Event
from skills_runtime.llm import FakeChatCall
from skills_runtime.runs import RunPaths, read_view, runs_root, verify_run
from skills_runtime.skills import Library, MemorySource, Origin, Report
from skills_runtime.skills.sources import IndexedSource
from skills_runtime.testing import FakeModel, says
from tests.support.agents import agent_in, calls, payloads_of
from tests.support.events import check_request
from tests.unit.skills.samples import make_skill, row, skill_text

RUN_ID = "run_1"
SKILLS = {
    "spaces": [{"id": "s", "namespace": "web:mvp", "sources": ["f"]}],
    "sources": [{"id": "f", "type": "filesystem", "options": {"root": "skills"}}],
    "discovery": {"enabled": False},
}
LOOK = calls(("list_dir", {"dir_path": "."}))


@pytest.fixture(autouse=True)
def at_every_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skills are looked at before every request."""
    monkeypatch.setattr(context, "MIN_POLL_SECONDS", 0.0)
    monkeypatch.setattr(context, "MIN_POLL_RATIO", 0)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name in ("writer", "reader"):
        make_skill(tmp_path / "skills", name, text=skill_text(name, body=f"TEXT OF {name.upper()}\n"))
    return tmp_path


class Changing(FakeModel):
    """A model during whose answers skills change."""

    def __init__(self, answers: list[FakeChatCall], changes: Mapping[int, Callable[[], object]]) -> None:
        super().__init__(answers)
        self._changes = changes

    def stream_chat(self, request: Any) -> Any:
        """Change what is to change during this answer, and give it."""
        check_request(request)
        change = self._changes.get(len(self.requests))
        if change is not None:
            change()
        return super().stream_chat(request)


def run(directory: Path, model: FakeModel, task: str = "Go.", **settings: Any) -> Any:
    return agent_in(directory, model, settings={"skills": SKILLS, **settings}).run(task, run_id=RUN_ID)


def news_in(locator: str) -> list[Any]:
    return [payload for payload in payloads_of(locator, "skill_catalog_offered") if payload.text]


def last_of(model: FakeModel, request: int) -> str:
    return str(model.requests[request].messages[-1]["content"])


def adding(directory: Path, name: str = "editor") -> Callable[[], object]:
    return lambda: make_skill(
        directory / "skills", name, text=skill_text(name, "Edits.", body=f"TEXT OF {name.upper()}\n")
    )


def test_a_new_skill_is_reported_once_at_the_end_and_can_be_activated(directory: Path) -> None:
    answers = [LOOK, calls(("activate_skill", {"name": "editor"})), LOOK, says("done")]
    model = Changing(answers, {0: adding(directory)})
    result = run(directory, model)
    assert "- $[web:mvp].editor: Edits. (new)" in last_of(model, 1)
    assert "TEXT OF EDITOR" in last_of(model, 2)
    (news,) = news_in(result.wal_locator)
    assert (news.added, news.changed, news.removed) == (["$[web:mvp].editor"], [], [])
    assert verify_run(Path(result.wal_locator).parent, log_ports().keys).findings == []


def test_the_beginning_of_the_request_and_the_tools_stay_as_they_were(directory: Path) -> None:
    model = Changing([LOOK, LOOK, says("done")], {0: adding(directory)})
    run(directory, model)
    first, second, third = model.requests
    assert second.messages[: len(first.messages)] == first.messages
    assert third.messages[: len(second.messages)] == second.messages
    assert first.tools == second.tools == third.tools


def test_a_skill_renamed_while_running_is_reported_by_both_names_and_every_other_works(directory: Path) -> None:
    def rename() -> None:
        (directory / "skills" / "writer").rename(directory / "skills" / "author")
        (directory / "skills" / "author" / "SKILL.md").write_text(skill_text("author", body="TEXT OF AUTHOR\n"))

    call = calls(*(("activate_skill", {"name": name}) for name in ("writer", "reader", "author")))
    model = Changing([LOOK, call, says("done")], {0: rename})
    result = run(directory, model)
    (news,) = news_in(result.wal_locator)
    assert (news.added, news.removed) == (["$[web:mvp].author"], ["$[web:mvp].writer"])
    assert "$[web:mvp].writer (no longer available)" in last_of(model, 1)
    results = [str(message["content"]) for message in model.requests[2].messages if message["role"] == "tool"][1:]
    assert ["no skill `writer`" in results[0], '"ok":true' in results[1], '"ok":true' in results[2]] == [True] * 3


def test_a_skill_that_breaks_is_gone_by_name_and_every_other_works(directory: Path) -> None:
    broken = directory / "skills" / "writer" / "SKILL.md"
    call = calls(("activate_skill", {"name": "reader"}))
    model = Changing([LOOK, call, says("done")], {0: lambda: broken.write_bytes(b"\x00\xff")})
    result = run(directory, model)
    assert [payload.removed for payload in news_in(result.wal_locator)] == [["$[web:mvp].writer"]]
    assert "TEXT OF READER" in last_of(model, 2)


def test_a_skill_that_says_something_else_is_reported(directory: Path) -> None:
    path = directory / "skills" / "writer" / "SKILL.md"
    model = Changing([LOOK, says("done")], {0: lambda: path.write_text(skill_text("writer", "Writes letters."))})
    run(directory, model)
    assert "Writes letters. (changed)" in last_of(model, 1)


def test_a_new_text_alone_is_nothing_that_the_list_would_say(directory: Path) -> None:
    path = directory / "skills" / "writer" / "SKILL.md"
    model = Changing([LOOK, says("done")], {0: lambda: path.write_text(skill_text("writer", body="Other.\n"))})
    assert news_in(run(directory, model).wal_locator) == []


def test_each_change_is_reported_by_itself(directory: Path) -> None:
    model = Changing([LOOK, LOOK, LOOK, says("done")], {0: adding(directory, "one"), 1: adding(directory, "two")})
    result = run(directory, model)
    assert [payload.added for payload in news_in(result.wal_locator)] == [["$[web:mvp].one"], ["$[web:mvp].two"]]


def stop_after_the_first_answer(directory: Path, model: FakeModel) -> None:
    agent, control = agent_in(directory, model, settings={"skills": SKILLS}), Control()
    started = agent.create(RunRequest(prompt="Go.", run_id=RUN_ID))

    def watch(event: Event) -> None:
        control.yielding = control.yielding or event.type == "tool_call_finished"

    started.log.listen(watch)
    assert asyncio.run(agent.execute(started, control=control)).status == "paused"


def test_a_resumed_run_is_told_what_changed_since_the_log_was_written(directory: Path) -> None:
    model = FakeModel([LOOK, LOOK, says("done")])
    stop_after_the_first_answer(directory, model)
    adding(directory)()
    shutil.rmtree(directory / "skills" / "writer")
    result = run(directory, model)
    (news,) = news_in(result.wal_locator)
    assert (news.added, news.removed) == (["$[web:mvp].editor"], ["$[web:mvp].writer"])
    assert "(no longer available)" in last_of(model, 1)


def test_a_resumed_run_is_not_told_again_what_it_knows(directory: Path) -> None:
    model = FakeModel([LOOK, says("done")])
    stop_after_the_first_answer(directory, model)
    assert news_in(run(directory, model).wal_locator) == []


def test_what_was_reported_before_a_stop_is_not_reported_after_it(directory: Path) -> None:
    model = Changing([LOOK, LOOK, says("done")], {0: adding(directory)})
    agent, control, seen = agent_in(directory, model, settings={"skills": SKILLS}), Control(), list[str]()
    started = agent.create(RunRequest(prompt="Go.", run_id=RUN_ID))

    def watch(event: Event) -> None:
        seen.append(event.type)
        control.yielding = control.yielding or seen.count("tool_call_finished") == 2

    started.log.listen(watch)
    assert asyncio.run(agent.execute(started, control=control)).status == "paused"
    assert len(news_in(run(directory, model).wal_locator)) == 1


def test_a_process_that_dies_with_the_news_tells_them_once(directory: Path) -> None:
    def die(event: Event) -> None:
        if event.type == "skill_catalog_offered" and getattr(event.payload, "text", ""):
            raise KeyboardInterrupt

    model = Changing([LOOK, says("done")], {0: adding(directory)})
    agent = agent_in(directory, model, settings={"skills": SKILLS}, hooks=(die,))
    with pytest.raises(KeyboardInterrupt):
        agent.run("Go.", run_id=RUN_ID)
    assert len(news_in(run(directory, model).wal_locator)) == 1
    assert sum("have changed" in str(message["content"]) for message in model.requests[-1].messages) == 1


async def test_a_replay_does_not_diverge(directory: Path) -> None:
    model = Changing([LOOK, calls(("activate_skill", {"name": "editor"})), says("done")], {0: adding(directory)})
    result = await asyncio.to_thread(run, directory, model)
    assert news_in(result.wal_locator)
    resolved = resolve(directory, session_settings={"safety": {"mode": "allow"}, "skills": SKILLS})
    assert await replay(Path(result.wal_locator).parent, resolved) is None


def test_many_turns_without_a_change_search_no_directory(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skills_runtime.skills.sources.filesystem_index.GRAIN_NS", -(10**18))
    searched, search = list[str](), IndexedSource.skills

    def counted(source: IndexedSource) -> Report:
        searched.append("search")
        return search(source)

    monkeypatch.setattr(IndexedSource, "skills", counted)
    model = FakeModel([*[LOOK] * 30, says("done")])
    result = run(directory, model)
    assert result.status == "completed"
    assert searched == ["search"]
    assert news_in(result.wal_locator) == []


def test_skills_are_looked_at_now_and_then_and_not_at_every_turn(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "MIN_POLL_SECONDS", 3600.0)
    looked: list[Library] = []
    monkeypatch.setattr(Library, "refresh", looked.append)
    run(directory, FakeModel([*[LOOK] * 10, says("done")]))
    assert looked == []


def test_a_run_whose_model_was_told_of_no_list_is_told_of_no_change(directory: Path) -> None:
    model = Changing([LOOK, says("done")], {0: adding(directory)})
    result = run(directory, model, prompt={"include_skills_list": False})
    assert payloads_of(result.wal_locator, "skill_catalog_offered") == []


@pytest.mark.parametrize(("policy", "count"), [("always", 1), ("manual", 0), ("ttl", 0)])
def test_the_refresh_policy_says_when_directories_are_looked_at(directory: Path, policy: str, count: int) -> None:
    model = Changing([LOOK, says("done")], {0: adding(directory)})
    scan = {"refresh_policy": policy, "ttl_sec": 300}
    assert len(news_in(run(directory, model, skills={**SKILLS, "scan": scan}).wal_locator)) == count


def test_skills_that_a_program_registers_anew_are_reported(directory: Path) -> None:
    source = MemorySource(Origin("space", "web:mvp", "rows"), [row("writer")])
    model = Changing([LOOK, says("done")], {0: lambda: source.replace([row("writer"), row("painter")])})
    agent = Agent(
        workspace_root=directory,
        backend=model,
        session_settings={"safety": {"mode": "allow"}},
        skills_manager=Library([source]),
    )
    result = agent.run("Go.", run_id=RUN_ID)
    assert [payload.added for payload in news_in(result.wal_locator)] == [["$[web:mvp].painter"]]


def test_news_survive_a_summary_of_the_conversation(directory: Path) -> None:
    model = Changing([LOOK, LOOK, says("done")], {0: adding(directory)})
    result = run(directory, model)
    talk = read_view(RunPaths(runs_root(directory) / result.run_id), log_ports()).conversation
    assert [message.pinned for message in talk.messages if message.is_skill_update] == [True]
    for number in range(20):
        talk.add_skill_update(str(number))
    assert [message.text for message in talk.messages if message.is_skill_update and message.pinned] == [
        str(number) for number in range(12, 20)
    ]
