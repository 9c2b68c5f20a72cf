"""What a run starts from: pictures, what was said before, the task; in the first request and never lost."""

import asyncio
import base64
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import RunRequest
from skills_runtime.errors import ValidationFailed
from skills_runtime.events import Event, Payload
from skills_runtime.runs import EventLog, runs_root
from skills_runtime.testing import FakeModel, says
from tests.support.agents import agent_in, calls, payloads_of
from tests.support.events import check_request

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
RUN_ID = "run_1"
HISTORY = [
    {"role": "user", "content": "Who are you?"},
    {"role": "assistant", "content": "A test."},
    {"role": "user", "content": "Good."},
]


def first_messages(directory: Path, request: RunRequest, watched: FakeModel) -> list[Any]:
    """What the model is told first, without the system prompt."""
    agent = agent_in(directory, watched)
    asyncio.run(agent.execute(agent.create(request)))
    check_request(watched.requests[0])
    return list(watched.requests[0].messages[1:])


def test_images_reach_the_model_before_the_task(tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(PNG)
    request = RunRequest(prompt="What is this?", run_id=RUN_ID, images=(tmp_path / "dot.png",))
    watched = FakeModel([calls(("file_read", {"path": "x"})), says("a dot")])
    pictures, task = first_messages(tmp_path, request, watched)
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert pictures["content"][1] == {"type": "image_url", "image_url": {"url": url}}
    assert task == {"role": "user", "content": "What is this?"}
    assert watched.requests[1].messages[1] == pictures


def test_an_image_a_tool_looked_at_reaches_the_model_behind_the_results(tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(PNG)
    watched = FakeModel([calls(("view_image", {"path": "dot.png"}), ("file_read", {"path": "no"})), says("a dot")])
    agent_in(tmp_path, watched).run("Look.")
    check_request(watched.requests[1])
    assert [message["role"] for message in watched.requests[1].messages][-4:] == ["assistant", "tool", "tool", "user"]
    assert watched.requests[1].messages[-1]["content"][1]["type"] == "image_url"


def test_an_image_may_have_a_name_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"d\xff.png")
    path.write_bytes(PNG)
    agent = agent_in(tmp_path, [says("a dot")])
    result = asyncio.run(agent.execute(agent.create(RunRequest(prompt="?", images=(path,)))))
    (attached,) = payloads_of(result.wal_locator, "images_attached")
    assert attached.images[0]["name"] == "d\ufffd.png"


def test_the_bytes_of_a_image_are_not_in_the_log(tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(PNG)
    request = RunRequest(prompt="?", run_id=RUN_ID, images=(tmp_path / "dot.png",))
    first_messages(tmp_path, request, FakeModel([says("x")]))
    log = (runs_root(tmp_path) / RUN_ID / "events.jsonl").read_bytes()
    assert base64.b64encode(PNG)[:40] not in log


@pytest.mark.parametrize("data", [None, b"", b"no picture", PNG[:7]])
def test_an_image_that_is_invalid_is_refused_and_leaves_no_run(tmp_path: Path, data: bytes | None) -> None:
    if data is not None:
        (tmp_path / "dot.png").write_bytes(data)
    with pytest.raises(ValidationFailed, match="image"):
        agent_in(tmp_path, [says("x")]).create(RunRequest(prompt="?", images=(tmp_path / "dot.png",)))
    assert not runs_root(tmp_path).exists()


def test_the_history_comes_before_the_task(tmp_path: Path) -> None:
    watched = FakeModel([says("done")])
    result = agent_in(tmp_path, watched).run("Go.", initial_history=HISTORY)
    assert list(watched.requests[0].messages[1:]) == [*HISTORY, {"role": "user", "content": "Go."}]
    assert result.final_output == "done"


@pytest.mark.parametrize(
    "message",
    [
        {"role": "system", "content": "x"},
        {"role": "tool", "content": "x"},
        {"role": "user"},
        {"role": "user", "content": "half \ud800"},
        {},
    ],
)
def test_a_history_of_something_else_is_refused_and_leaves_no_run(tmp_path: Path, message: dict[str, str]) -> None:
    with pytest.raises(ValidationFailed):
        agent_in(tmp_path, [says("x")]).run("Go.", initial_history=[message])
    assert not runs_root(tmp_path).exists()


def test_a_history_that_starts_with_an_answer_is_one_providers_take(tmp_path: Path) -> None:
    watched = FakeModel([says("done")])
    agent_in(tmp_path, watched).run("Go.", initial_history=HISTORY[1:])
    check_request(watched.requests[0])


def test_no_history_may_be_given_as_none(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, [says("done")])
    assert agent.run("Go.", initial_history=None).status == "completed"


class Killed(BaseException):
    """The process dies."""


def _die_before(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the process die when it is about to write the event with this number, counted from 0."""
    append, append_all, left = EventLog.append, EventLog.append_all, number

    def live_on(events: int) -> None:
        nonlocal left
        left -= events
        if left < 0:
            raise Killed

    def dying(log: EventLog, payload: Payload, **ids: Any) -> Event:
        live_on(1)
        return append(log, payload, **ids)

    def dying_together(log: EventLog, entries: Sequence[Any]) -> list[Event]:
        live_on(len(entries))
        return append_all(log, entries)

    monkeypatch.setattr(EventLog, "append", dying)
    monkeypatch.setattr(EventLog, "append_all", dying_together)


@pytest.mark.parametrize("number", range(8))
def test_a_run_killed_before_its_first_request_starts_with_all_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Killed before any of its first events the run is not there yet, or there with everything."""
    path = tmp_path / "place"
    path.mkdir()
    (path / "dot.png").write_bytes(PNG)
    request = RunRequest(prompt="Go.", run_id=RUN_ID, history=tuple(HISTORY), images=(path / "dot.png",))
    agent = agent_in(path, FakeModel([says("done")]))
    with monkeypatch.context() as patch:
        _die_before(number, patch)
        with pytest.raises(Killed):
            asyncio.run(agent.execute(agent.create(request)))
    if not (runs_root(path) / RUN_ID).exists():
        return
    shutil.copytree(path, tmp_path / "later", symlinks=True)  # whose locks died with the process
    watched = FakeModel([says("done")])
    agent_in(tmp_path / "later", watched).run("", run_id=RUN_ID)
    results = list(watched.requests[0].messages[1:])
    assert results[:3] == HISTORY
    assert results[3]["content"][1]["type"] == "image_url"
    assert results[4:] == [{"role": "user", "content": "Go."}]


@pytest.mark.parametrize("text", ["a\r\nb\r\n", "a\rb", "  spaces  ", "\ufeffbom", "a\u2028b\x85c", "\x00\x1b[31m", ""])
def test_the_task_reaches_the_model_to_the_letter(tmp_path: Path, text: str) -> None:
    watched = FakeModel([says("done")])
    result = agent_in(tmp_path, watched).run(text, run_id=RUN_ID)
    assert result.status == "completed"
    assert watched.requests[0].messages[1]["content"] == text
    (started,) = payloads_of(result.wal_locator, "run_started")
    assert started.task == text


@pytest.mark.parametrize("text", ["a\r\nb", "a\rb\n"])
def test_the_system_prompt_reaches_the_model_to_the_letter(tmp_path: Path, text: str) -> None:
    watched = FakeModel([says("done")])
    agent_in(tmp_path, watched, settings={"prompt": {"system_text": text}}).run("Go.")
    assert text in watched.requests[0].messages[0]["content"]
