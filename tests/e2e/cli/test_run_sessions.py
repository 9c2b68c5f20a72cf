"""A session carries what was said into the next run; and what a run may use, look at and hand over."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent, RunRequest
from skills_runtime.agent.options import AgentOptions
from skills_runtime.cli.options import ConfigOptions, resolve_settings
from skills_runtime.tools import builtin_tools
from tests.e2e.cli.programs import Answer, invoke, say, write_config
from tests.e2e.cli.test_bad_input import assert_refused

PNG = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
    b"\x00\x00\x00\rIDATx\x9cc\xf8\xff\xff?\x00\x05\xfe\x02\xfe\xa7\x9a\xa0\xa0\x00\x00\x00\x00IEND\xaeB`\x82"
)


def ask(name: str, prompt: str, *more: str, answer: str = "Yes.", **sections: Any) -> Answer:
    write_config(Path(), say(answer), **sections)
    place = ("--config", "kgent.yaml", "--sandbox", f"runs/{name}")
    return invoke("run", prompt, "--session", "talk", *place, "-q", *more)


def payload_of(name: str, event_type: str) -> dict[str, Any] | None:
    events = (json.loads(line) for line in Path(f"runs/{name}/events.jsonl").read_text().splitlines())
    return next((event["payload"] for event in events if event["type"] == event_type), None)


def history(name: str) -> list[str]:
    payload = payload_of(name, "history_loaded") or {"messages": []}
    return [message["content"] for message in payload["messages"]]


@pytest.fixture
def talk(workspace: Path) -> Path:
    """Two completed runs of one session."""
    assert ask("one", "My name is Ada", answer="Hello, Ada").code == 0
    assert ask("two", "I like blue", answer="So do I").code == 0
    return workspace


def test_a_run_gets_the_messages_of_its_session_oldest_first(talk: Path) -> None:
    assert ask("three", "Who am I?").code == 0
    loaded = payload_of("three", "history_loaded")
    assert loaded == {
        "messages": [
            {"role": "user", "content": "My name is Ada"},
            {"role": "assistant", "content": "Hello, Ada"},
            {"role": "user", "content": "I like blue"},
            {"role": "assistant", "content": "So do I"},
        ],
        "runs": ["one", "two"],
    }


def test_the_first_line_says_what_of_the_session_is_known(talk: Path) -> None:
    write_config(Path(), say("Yes."))
    answer = invoke("run", "Who am I?", "--session-id", "talk", "--config", "kgent.yaml", "--sandbox", "runs/three")
    assert answer.err.splitlines()[1] == "     session  loaded 2 earlier runs"


@pytest.mark.parametrize(
    ("settings", "known"),
    [
        (("prompt.history.max_messages=3",), ["I like blue", "So do I"]),
        (("prompt.history.max_messages=1",), []),
        (("prompt.history.max_chars=20",), ["I like blue", "So do I"]),
        (("prompt.history.max_chars=17",), []),
        (("prompt.history.mode=none",), []),
        (("prompt.profile=generation_direct",), []),
        (("prompt.profile=generation_direct", "prompt.history.mode=full"), 4),
    ],
)
def test_the_oldest_goes_first_and_no_answer_without_its_task(
    talk: Path, settings: tuple[str, ...], known: list[str] | int
) -> None:
    assert ask("three", "And?", *(word for one in settings for word in ("--set", one))).code == 0
    assert history("three") == known or len(history("three")) == known


def test_only_completed_runs_of_the_same_session_count(talk: Path) -> None:
    assert ask("failed", "Break", deliverables={"required": ["x.md"]}).code == 1
    assert ask("review", "Look", "--review").code == 26
    write_config(Path(), say("Elsewhere"))
    assert invoke("run", "x", "--session", "other", "--config", "kgent.yaml", "-q").code == 0
    assert ask("last", "And?").code == 0
    assert (payload_of("last", "history_loaded") or {})["runs"] == ["one", "two"]


def test_a_result_counts_as_soon_as_it_is_approved(talk: Path) -> None:
    assert ask("review", "Look", "--review", answer="Looked").code == 26
    assert invoke("runs", "review", "approve", "review").code == 0
    assert ask("last", "And?").code == 0
    assert history("last")[-2:] == ["Look", "Looked"]


def test_a_run_that_is_gone_is_left_out_silently_and_a_damaged_one_is_mentioned(talk: Path) -> None:
    shutil.rmtree("runs/one")
    Path("runs/two/events.jsonl").write_text("nonsense\n")
    write_config(Path(), say("Yes."))
    answer = invoke("run", "And?", "--session", "talk", "--config", "kgent.yaml", "--sandbox", "runs/three")
    assert answer.code == 0
    assert "notice: the run `two` of this session cannot be read and is left out of its history\n" in answer.err
    assert "`one`" not in answer.err
    assert history("three") == []


def test_output_of_a_sub_agent_is_not_part_of_the_conversation(talk: Path) -> None:
    config = write_config(Path(), say("Counted."))
    resolved = resolve_settings(ConfigOptions(files=[str(config)]))
    agent = Agent.from_resolved(resolved, AgentOptions(tools=builtin_tools()))
    child = agent.create(RunRequest(prompt="Count", run_id="two-1", session_id="talk", parent_run_id="two"))
    assert asyncio.run(agent.execute(child)).status == "completed"
    assert "two-1" in invoke("runs", "list").out
    assert ask("three", "And?").code == 0
    assert "Count" not in history("three")
    assert len(history("three")) == 4


def test_a_fork_goes_on_from_its_parent_and_not_from_the_session(talk: Path) -> None:
    write_config(Path(), say("So do I"), say("And green"))
    forked = invoke("runs", "fork", "two", "--prompt", "More?", "--sandbox", "runs/fork", "-q")
    assert forked.code == 0, forked.err
    assert payload_of("fork", "history_loaded") is None


def test_a_talk_needs_a_terminal(workspace: Path) -> None:
    write_config(workspace, say("Yes."))
    assert_refused(invoke("run", "--session", "talk", "--config", "kgent.yaml"), 2, "usage", "no task was given")


def test_what_names_one_run_does_not_fit_a_talk(workspace: Path) -> None:
    answer = invoke("run", "--session", "talk", "--run-id", "r")
    assert_refused(answer, 2, "usage", "need a task")


def test_pictures_belong_to_the_task(workspace: Path) -> None:
    (workspace / "a.png").write_bytes(PNG)
    assert ask("r", "What is this?", "--image", "a.png", "--image", "a.png").code == 0
    images = (payload_of("r", "images_attached") or {})["images"]
    assert [(image["name"], image["media_type"]) for image in images] == [("a.png", "image/png")] * 2


def test_a_picture_that_is_none_starts_nothing(workspace: Path) -> None:
    (workspace / "a.png").write_bytes(b"hello")
    assert_refused(ask("r", "What is this?", "--image", "a.png"), 20, "validation", "is not an image")
    assert_refused(ask("r", "What is this?", "--image", "no.png"), 20, "validation", "cannot be read")
    assert not Path("runs/r").exists()


def test_a_run_that_reaches_its_limit_waits_and_goes_on_with_more(workspace: Path) -> None:
    look = say("", ("list_dir", {"dir_path": str(workspace)}))
    write_config(workspace, look, say("Done."))
    limits = ("--max-tokens", "100", "--on-limit", "park")
    answer = invoke("run", "Look", "--config", "kgent.yaml", "--sandbox", "runs/r", *limits)
    assert answer.code == 26, answer.err
    assert " limit reached  the run has used 120 tokens;" in answer.err
    assert "go on  kgent runs resume r --set run.max_tokens=MORE" in answer.err
    assert invoke("runs", "list").out.splitlines()[1].split()[1:4] == ["◆", "limit", "reached"]
    resumed = invoke("runs", "resume", "r", "--set", "run.max_tokens=1000")
    assert (resumed.code, resumed.out) == (0, "Done.\n"), resumed.err


def test_a_run_that_reaches_its_limit_fails_when_it_is_told_to(workspace: Path) -> None:
    write_config(workspace, say("", ("list_dir", {"dir_path": str(workspace)})), say("Done."), run={"on_limit": "park"})
    limits = ("--max-tokens", "100", "--on-limit", "fail", "-q")
    answer = invoke("run", "Look", "--config", "kgent.yaml", "--sandbox", "runs/r", *limits)
    assert answer.code == 1
    assert "  kind: budget_exceeded\n" in answer.err


def test_what_a_run_may_cost_needs_a_price_and_what_it_cost_is_shown(workspace: Path) -> None:
    write_config(workspace, say("Done."))
    limited = ("run", "x", "--config", "kgent.yaml", "--sandbox", "r", "--max-cost", "1")
    assert_refused(invoke(*limited), 20, "config_error", "the price of `scripted` is unknown")
    assert not Path("r").exists()
    prices = "llm.prices=[{model: scripted, input: 1000, output: 1000}]"
    answer = invoke(*limited, "--set", prices)
    assert answer.code == 0, answer.err
    assert " · 120 tokens · $0.12\n" in answer.err
    assert_refused(invoke("run", "x", "--config", "kgent.yaml", "--max-cost", "-1"), 20, "config_error")
