"""A chat at the terminal, with the real program."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli.models import Held, write_settings
from tests.e2e.cli.programs import invoke, say, write, write_config
from tests.e2e.cli.terminals import CTRL_C, CTRL_D, on_a_terminal
from tests.support import model_server

CHAT = ("chat", "--session", "talk", "--config", "kgent.yaml")
ASK = {"safety": {"mode": "ask"}}


def rows_of(session: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in invoke("runs", "list", "--session", session, "--json").out.splitlines()]


def events(root: Path, event_type: str) -> list[dict[str, Any]]:
    lines = (json.loads(line) for line in (root / "events.jsonl").read_text().splitlines())
    return [line["payload"] for line in lines if line["type"] == event_type]


@pytest.mark.parametrize("command", [CHAT, ("run", *CHAT[1:])])
def test_a_message_is_one_run_and_its_turn_is_the_answer_alone(workspace: Path, command: tuple[str, ...]) -> None:
    write_config(workspace, say("I see."))
    with on_a_terminal("skills-runtime", *command, cwd=workspace) as screen:
        screen.expect("chat talk · scripted · /help lists commands\n")
        for message in ("My name is Ada", "I like blue", "Who am I? 我是谁"):
            screen.expect("you> ")
            screen.type(f"{message}\n")
            screen.expect("I see.\n")
        screen.expect("you> ")
        screen.type("/exit\n")
        screen.expect("continue with: skills-runtime chat --session talk\n")
        assert screen.end() == 0
    assert screen.text.count("I see.") == 3
    assert not any(word in screen.text for word in ("done", "deliverable", "runs show"))
    rows = rows_of("talk")
    assert [row["title"] for row in rows] == ["Who am I? 我是谁", "I like blue", "My name is Ada"]
    assert len({row["task_id"] for row in rows}) == 3
    (history,) = events(Path(rows[0]["path"]), "history_loaded")
    contents = [message["content"] for message in history["messages"]]
    assert contents == ["My name is Ada", "I see.", "I like blue", "I see."]


def test_a_continued_chat_knows_its_turns_and_a_new_one_names_itself(workspace: Path) -> None:
    write_config(workspace, say("I see."))
    assert invoke("run", "Hello", "--session", "talk", "--config", "kgent.yaml", "-q").code == 0
    with on_a_terminal("skills-runtime", *CHAT, cwd=workspace) as screen:
        screen.expect("chat talk · scripted · 1 turn · /help")
        screen.expect("you> ")
        screen.type(CTRL_D)
        assert screen.end() == 0
    with on_a_terminal("skills-runtime", "chat", "--config", "kgent.yaml", cwd=workspace) as screen:
        screen.expect("you> ")
        screen.type("Hello\n")
        screen.expect("I see.\n")
        screen.expect("you> ")
        screen.type(CTRL_D)
        screen.expect("continue with: skills-runtime chat --session chat-")
        assert screen.end() == 0
    session = screen.text.rpartition("--session ")[2].strip()
    assert [row["title"] for row in rows_of(session)] == ["Hello"]


def test_commands_of_the_chat_are_not_sent_to_the_model(workspace: Path) -> None:
    write_config(workspace, say("I see."))
    with on_a_terminal("skills-runtime", *CHAT, cwd=workspace) as screen:
        for typed, answer in (
            ("/help", "/exit   leave the chat"),
            ("/runs", "runs list --session talk"),
            ("", "you> "),
        ):
            screen.expect("you> ")
            screen.type(f"{typed}\n")
            screen.expect(answer)
        screen.type(CTRL_D)
        assert screen.end() == 0
    assert rows_of("talk") == []


def test_a_message_is_edited_and_recalled_with_the_arrow_keys(workspace: Path) -> None:
    write_config(workspace, say("I see."))
    left, up = "\x1b[D", "\x1b[A"
    with on_a_terminal("skills-runtime", *CHAT, cwd=workspace) as screen:
        screen.expect("you> ")
        screen.type(f"Helo{left}l\n")
        screen.expect("I see.\n")
        screen.expect("you> ")
        screen.type(f"{up} again\n")
        screen.expect("I see.\n")
        screen.expect("you> ")
        screen.type(CTRL_D)
        assert screen.end() == 0
    assert [row["title"] for row in rows_of("talk")] == ["Hello again", "Hello"]


def test_what_was_approved_for_the_session_is_not_asked_about_in_the_next_turn(workspace: Path) -> None:
    write_config(workspace, say("", write("deliverables/a.md")), say("Written."), **ASK)
    with on_a_terminal("skills-runtime", *CHAT, cwd=workspace) as screen:
        screen.expect("you> ")
        screen.type("Write it\n")
        screen.expect("allow? ")
        screen.type("s\n")
        screen.expect("you> ")
        screen.type("Again\n")
        screen.expect("you> ")
        screen.type(CTRL_D)
        assert screen.end() == 0
    assert screen.text.count("needs your approval") == 1


def test_a_message_that_cannot_be_worked_on_does_not_end_the_chat(workspace: Path) -> None:
    write_config(workspace, say("I see."))
    with on_a_terminal("skills-runtime", *CHAT, cwd=workspace) as screen:
        screen.expect("you> ")
        screen.type("$[web:mvp].nope Write it\n")
        screen.expect("  kind: not_found\n")
        screen.expect("you> ")
        screen.type("Then without it\n")
        screen.expect("I see.\n")
        screen.expect("you> ")
        screen.type(CTRL_D)
        assert screen.end() == 0


def test_a_turn_that_fails_says_why_and_the_chat_goes_on(workspace: Path) -> None:
    write_config(workspace, say("I see."), deliverables={"required": ["x.md"]})
    with on_a_terminal("skills-runtime", *CHAT, cwd=workspace) as screen:
        screen.expect("you> ")
        screen.type("Hello\n")
        screen.expect(" failed  missing_deliverable: x.md")
        screen.expect("you> ")
        screen.type(CTRL_D)
        assert screen.end() == 1


def test_ctrl_c_at_the_prompt_ends_the_chat(workspace: Path) -> None:
    write_config(workspace, say("I see."))
    with on_a_terminal("skills-runtime", *CHAT, cwd=workspace) as screen:
        screen.expect("you> ")
        screen.type(CTRL_C)
        screen.expect("continue with: ")
        assert screen.end() == 130
    assert "Traceback" not in screen.text


@contextmanager
def interrupted_model(place: Path) -> Generator[None]:
    """A model whose first answer does not end, and whose second does."""
    chunks = Held(model_server.breaks_off("Once upon a time").chunks)
    chunks.reached, chunks.let_go = threading.Event(), threading.Event()
    answers = [model_server.Answer(chunks, ending="cut"), model_server.says("The end.")]
    with model_server.start(answers) as server:
        write_settings(place, server.base_url)
        try:
            yield
        finally:
            chunks.let_go.set()


def test_ctrl_c_stops_the_turn_and_the_next_message_continues_it(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"MODEL_KEY": "secret", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    with interrupted_model(workspace), on_a_terminal("skills-runtime", *CHAT, cwd=workspace) as screen:
        screen.expect("you> ")
        screen.type("Tell me a story\n")
        screen.expect("Once upon a time")
        screen.type(CTRL_C)
        screen.expect(" stopped; your next message continues this turn")
        screen.expect("you> ")
        screen.type("Make it short\n")
        screen.expect("The end.\n")
        screen.expect("you> ")
        screen.type(CTRL_D)
        assert screen.end() == 0
    (row,) = rows_of("talk")
    assert (row["title"], row["status"]) == ("Tell me a story", "completed")
    (received,) = events(Path(row["path"]), "inbox_received")
    assert received["body"]["text"] == "Make it short"


def test_a_chat_that_is_left_with_a_stopped_turn_names_the_command_that_resumes_it(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"MODEL_KEY": "secret", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    with interrupted_model(workspace), on_a_terminal("skills-runtime", *CHAT, cwd=workspace) as screen:
        screen.expect("you> ")
        screen.type("Tell me a story\n")
        screen.expect("Once upon a time")
        screen.type(CTRL_C)
        screen.expect("you> ")
        screen.type(CTRL_D)
        assert screen.end() == 130
    (row,) = rows_of("talk")
    assert f"the stopped turn: skills-runtime runs resume {row['run_id'][4:16]}\n" in screen.text


def test_a_chat_needs_a_terminal(workspace: Path) -> None:
    answer = invoke("chat", "--session", "talk")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: a chat needs a terminal")
