"""A fork goes on from any event of another run, shares what came before, and copies nothing."""

import asyncio
from pathlib import Path

import pytest

from skills_runtime.agent import Agent, RunResult
from skills_runtime.agent.loop.model_call import Prompt
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine.replay import replay
from skills_runtime.errors import LogCorrupt, NotFound, ValidationFailed
from skills_runtime.llm import FakeChatCall, ScriptedBackend
from skills_runtime.ports import ChatStreamEvent, ToolCall
from skills_runtime.projections import Actions, fold
from skills_runtime.runs import Run, RunPaths, read_events, read_view, verify_run, whole_history

WRITE = ToolCall(id="c1", name="file_write", arguments='{"path": "notes.md", "content": "one"}')
READ = ToolCall(id="c2", name="file_read", arguments='{"path": "notes.md"}')


def answer(text: str, *calls: ToolCall) -> FakeChatCall:
    events = [ChatStreamEvent(type="text_delta", text=text)]
    if calls:
        events.append(ChatStreamEvent(type="tool_calls", tool_calls=calls))
    return FakeChatCall([*events, ChatStreamEvent(type="completed", finish_reason="stop")])


SCRIPT = [answer("I write.", WRITE), answer("I read.", READ), answer("Done."), answer("More."), answer("Still more.")]


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    settings = {"safety": {"mode": "allow"}}
    return Agent(workspace_root=tmp_path, backend=ScriptedBackend(SCRIPT), session_settings=settings)


def parent_of(agent: Agent) -> Path:
    return Path(agent.run("Write notes.", run_id="parent").wal_locator).parent


def finish(agent: Agent, run: Run) -> RunResult:
    return asyncio.run(agent.execute(run))


def test_a_fork_at_every_event_runs_to_its_end_and_verifies(agent: Agent) -> None:
    root = parent_of(agent)
    events = list(read_events(RunPaths(root)))
    for event in events:
        fork = agent.fork(root, event.seq, run_id=f"fork-{event.seq}")
        result = finish(agent, fork)
        assert (result.status, event.seq) == ("completed", event.seq)
        assert verify_run(fork.paths.root, log_ports().keys).findings == []


def test_a_fork_does_not_repeat_turns_or_steps_of_its_parent(agent: Agent) -> None:
    root = parent_of(agent)
    before = {event.turn_id for event in read_events(RunPaths(root)) if event.turn_id}
    last = max(event.seq for event in read_events(RunPaths(root)))
    fork = agent.fork(root, last, prompt="And now?")
    finish(agent, fork)
    after = {event.turn_id for event in read_events(fork.paths) if event.turn_id}
    assert after
    assert not before & after


def test_another_prompt_follows_the_conversation(agent: Agent) -> None:
    root = parent_of(agent)
    last = max(event.seq for event in read_events(RunPaths(root)))
    fork = agent.fork(root, last, prompt="And now?")
    finish(agent, fork)
    messages = Prompt("", fork.blobs.get).messages(read_view(fork.paths, log_ports()).conversation)
    texts = [message["content"] for message in messages if message["role"] == "user"]
    assert texts == ["Write notes.", "And now?"]


def test_another_prompt_before_the_first_answer_replaces_the_task(agent: Agent) -> None:
    root = parent_of(agent)
    fork = agent.fork(root, 3, prompt="Write something else.")
    finish(agent, fork)
    messages = read_view(fork.paths, log_ports()).conversation.messages
    assert [message.text for message in messages if message.role == "user"] == ["Write something else."]


def test_a_fork_reads_the_exact_arguments_its_parent_kept(agent: Agent) -> None:
    root = parent_of(agent)
    last = max(event.seq for event in read_events(RunPaths(root)))
    fork = agent.fork(root, last, prompt="And now?")
    text = str(Prompt("", fork.blobs.get).messages(fork.view.conversation))
    fork.close()
    assert '"content": "one"' in text
    assert list((fork.paths.blobs).iterdir()) == []


def test_a_fork_of_a_fork_stands_on_both(agent: Agent) -> None:
    root = parent_of(agent)
    last = max(event.seq for event in read_events(RunPaths(root)))
    first = agent.fork(root, last, prompt="And now?")
    finish(agent, first)
    end = max(event.seq for event in read_events(first.paths))
    second = agent.fork(first.paths.root, end, prompt="And then?")
    result = finish(agent, second)
    assert result.final_output == "Still more."
    messages = read_view(second.paths, log_ports()).conversation.messages
    assert [message.text for message in messages if message.role == "user"] == ["Write notes.", "And now?", "And then?"]


def test_a_parent_that_grew_is_fine_and_one_that_was_changed_is_refused(agent: Agent) -> None:
    root = parent_of(agent)
    fork = agent.fork(root, 5)
    fork.close()
    log = root / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b"Write notes.", b"Write jokes."))
    with pytest.raises(LogCorrupt, match="was changed"):
        read_view(fork.paths, log_ports())
    findings = verify_run(fork.paths.root, log_ports().keys).findings
    assert [(finding.code, finding.severity) for finding in findings] == [("parent", "error")]


def test_an_event_that_is_not_there_is_named(agent: Agent) -> None:
    with pytest.raises(ValidationFailed, match="has no event 999"):
        agent.fork(parent_of(agent), 999)


def test_a_run_that_is_not_there_cannot_be_forked(agent: Agent, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        agent.fork(tmp_path / "nothing", 0)


@pytest.mark.parametrize("prompt", [None, "And now?"])
def test_a_fork_is_replayed_with_what_it_shares(agent: Agent, prompt: str | None) -> None:
    root = parent_of(agent)
    last = max(event.seq for event in read_events(RunPaths(root)))
    fork = agent.fork(root, last if prompt else 12, prompt=prompt)
    assert finish(agent, fork).status == "completed"
    assert asyncio.run(replay(fork.paths.root, agent.resolved)) is None
    assert [move.kind for move in fold(whole_history(fork.paths), Actions()).to_list()][:3] == [
        "task",
        "answer",
        "call",
    ]
