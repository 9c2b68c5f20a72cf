"""Somebody at a terminal: questions, approvals, a talk, and Ctrl-C, with the real program."""

import json
from pathlib import Path
from typing import Any

from tests.e2e.cli.programs import call, invoke, say, write, write_config
from tests.e2e.cli.terminals import CTRL_C, CTRL_D, on_a_terminal

RUN = ("run", "Paint it", "--config", "kgent.yaml", "--sandbox", "r")
COLOUR = say("", ("ask_human", {"question": "Which colour?", "choices": ["red", "blue"]}))
ASK = {"safety": {"mode": "ask"}}


def events(root: Path, event_type: str) -> list[dict[str, Any]]:
    lines = (json.loads(line) for line in (root / "events.jsonl").read_text().splitlines())
    return [line["payload"] for line in lines if line["type"] == event_type]


def test_a_question_is_asked_and_answered_in_place(workspace: Path) -> None:
    write_config(workspace, COLOUR, say("Painted blue."))
    with on_a_terminal("kgent", *RUN, cwd=workspace) as screen:
        screen.expect("     Which colour?\n     1   red \n     2   blue\n     answer> ")
        screen.type("2\n")
        screen.expect(" done ")
        screen.expect("Painted blue.\n")
        assert screen.end() == 0
    assert events(workspace / "r", "human_response") == [
        {"call_id": "call_1_1", "answer": "blue", "answers": {"answer": "blue"}}
    ]
    assert screen.written.count("\x1b[?25l") == screen.written.count("\x1b[?25h") > 0
    assert screen.text.count("Which colour?\n     1 ") == 1
    assert "  1  ask_human Which colour? " in screen.text


def test_a_question_left_for_later_parks_the_run(workspace: Path) -> None:
    write_config(workspace, COLOUR, say("Painted."))
    with on_a_terminal("kgent", *RUN, cwd=workspace) as screen:
        screen.expect("answer> ")
        screen.type(CTRL_D)
        screen.expect("the question stays open; answer it later")
        screen.expect("answer  kgent runs answer r NUMBER")
        assert screen.end() == 26
    with on_a_terminal("kgent", "runs", "resume", "r", cwd=workspace) as screen:
        screen.expect("answer> ")
        screen.type("green\n")
        assert screen.end() == 0
    assert events(workspace / "r", "human_response")[0]["answer"] == "green"
    assert len(events(workspace / "r", "human_response")) == 1


def test_a_call_is_shown_whole_and_runs_only_after_a_yes(workspace: Path) -> None:
    content = "hello\x1b]0;owned\x07\n"
    write_config(workspace, say("", write("deliverables/a.md", content)), say("Written."), **ASK)
    with on_a_terminal("kgent", *RUN, cwd=workspace) as screen:
        screen.expect("file_write needs your approval")
        screen.expect("create deliverables/a.md  +1")
        screen.expect(r"+hello\x1b]0;owned\x07")
        screen.expect("allow? ")
        assert not (workspace / "r/deliverables/a.md").exists()
        screen.type("y\n")
        assert screen.end() == 0
    assert (workspace / "r/deliverables/a.md").read_text() == content
    assert "owned\x07" not in screen.written
    (decided,) = events(workspace / "r", "approval_decided")
    assert decided["decision"] == "approved"


def test_a_no_is_reported_to_the_model_and_nothing_happens(workspace: Path) -> None:
    write_config(workspace, say("", write("deliverables/a.md")), say("Then not."), **ASK)
    with on_a_terminal("kgent", *RUN, cwd=workspace) as screen:
        screen.expect("allow? ")
        screen.type("\n")
        screen.expect("Then not.\n")
        assert screen.end() == 0
    assert not (workspace / "r/deliverables/a.md").exists()


def test_no_answer_in_time_parks_the_run_and_an_approval_from_elsewhere_resumes_it(workspace: Path) -> None:
    impatient = {"safety": {"mode": "ask", "approval_timeout_ms": 300}}
    write_config(workspace, say("", write("deliverables/a.md")), say("Written."), **impatient)
    with on_a_terminal("kgent", *RUN, cwd=workspace) as screen:
        screen.expect("allow? \n     no answer within 300 ms; the run waits, and `approvals approve` resumes it\n")
        screen.expect("approve  kgent approvals approve ")
        assert screen.end() == 26
    assert events(workspace / "r", "approval_decided") == []
    done = invoke("approvals", "approve", "r")
    assert (done.code, done.out) == (0, "Written.\n")
    assert len(events(workspace / "r", "approval_requested")) == 1


def test_a_rule_for_this_folder_holds_for_the_next_run_here_and_nowhere_else(workspace: Path, home: Path) -> None:
    write_config(workspace, say("", write("deliverables/a.md")), say("Written."), **ASK)
    with on_a_terminal("kgent", *RUN, cwd=workspace) as screen:
        screen.expect("allow? ")
        screen.type("f\n")
        screen.expect(f"folder: {workspace.resolve()}")
        screen.expect("add it? ")
        screen.type("y\n")
        assert screen.end() == 0
    (file,) = home.rglob("rules.yaml")
    assert f"folder: {workspace.resolve()}" in file.read_text()
    assert invoke("run", "Paint it", "--config", "kgent.yaml", "--sandbox", "again").code == 0
    assert events(workspace / "again", "approval_requested") == []
    elsewhere = workspace / "elsewhere"
    elsewhere.mkdir()
    write_config(elsewhere, say("", write("deliverables/a.md")), say("Written."), **ASK)
    config = ("--config", "kgent.yaml", "--sandbox", "r", "--approvals", "inbox")
    assert call("kgent", "run", "Paint it", *config, cwd=elsewhere).code == 26


def test_q_ends_the_run(workspace: Path) -> None:
    write_config(workspace, say("", write("deliverables/a.md")), say("Never."), **ASK)
    with on_a_terminal("kgent", *RUN, cwd=workspace) as screen:
        screen.expect("allow? ")
        screen.type("q\n")
        screen.expect(" cancelled  the approver stopped the run")
        assert screen.end() == 27


def test_ctrl_c_at_a_question_stops_the_run_and_leaves_it_resumable(workspace: Path) -> None:
    write_config(workspace, say("", write("deliverables/a.md")), say("Written."), **ASK)
    with on_a_terminal("kgent", *RUN, cwd=workspace) as screen:
        screen.expect("allow? ")
        screen.type(CTRL_C)
        screen.expect("stopping; press Ctrl-C again to exit at once\n")
        screen.expect(" stopped; resume with: kgent runs resume r")
        assert screen.end() == 130
    with on_a_terminal("kgent", "runs", "resume", "r", cwd=workspace) as screen:
        screen.expect("allow? ")
        screen.type("y\n")
        screen.expect("Written.\n")
        assert screen.end() == 0
    assert len(events(workspace / "r", "file_operation")) == 1


def test_quiet_and_json_never_prompt(workspace: Path) -> None:
    write_config(workspace, COLOUR, say("Painted."))
    for number, silent in enumerate(("-q", "--json")):
        arguments = ("run", "x", "--config", "kgent.yaml", "--sandbox", f"r{number}", silent)
        with on_a_terminal("kgent", *arguments, cwd=workspace) as screen:
            assert screen.end() == 26
        assert "answer>" not in screen.text


def test_a_talk_is_one_run_a_message_and_each_knows_the_ones_before(workspace: Path) -> None:
    write_config(workspace, say("I see."))
    talk = ("run", "--session", "talk", "--config", "kgent.yaml")
    with on_a_terminal("kgent", *talk, cwd=workspace) as screen:
        screen.expect("session talk; an empty line ends the chat\n")
        for message in ("My name is Ada", "I like blue", "Who am I? 我是谁"):
            screen.expect("you> ")
            screen.type(f"{message}\n")
            screen.expect("I see.\n")
        screen.expect("you> ")
        screen.type("\n")
        assert screen.end() == 0
    assert "     session  loaded 2 earlier runs\n" in screen.text
    rows = [json.loads(line) for line in invoke("runs", "list", "--session", "talk", "--json").out.splitlines()]
    assert [row["title"] for row in rows] == ["Who am I? 我是谁", "I like blue", "My name is Ada"]
    assert len({row["task_id"] for row in rows}) == 3
    (history,) = events(Path(rows[0]["path"]), "history_loaded")
    assert [message["content"] for message in history["messages"]] == [
        "My name is Ada",
        "I see.",
        "I like blue",
        "I see.",
    ]


def test_what_was_approved_for_the_session_is_not_asked_about_in_the_next_run_of_the_talk(workspace: Path) -> None:
    write_config(workspace, say("", write("deliverables/a.md")), say("Written."), **ASK)
    with on_a_terminal("kgent", "run", "--session", "talk", "--config", "kgent.yaml", cwd=workspace) as screen:
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


def test_a_message_that_cannot_be_worked_on_does_not_end_the_talk(workspace: Path) -> None:
    write_config(workspace, say("I see."))
    with on_a_terminal("kgent", "run", "--session", "talk", "--config", "kgent.yaml", cwd=workspace) as screen:
        screen.expect("you> ")
        screen.type("$[web:mvp].nope Write it\n")
        screen.expect("error: `$[web:mvp].nope` names a namespace that no space has\n  kind: not_found\n")
        screen.expect("you> ")
        screen.type("Then without it\n")
        screen.expect("I see.\n")
        screen.expect("you> ")
        screen.type("\n")
        assert screen.end() == 0


def test_ctrl_c_ends_a_talk(workspace: Path) -> None:
    write_config(workspace, say("I see."))
    with on_a_terminal("kgent", "run", "--session", "talk", "--config", "kgent.yaml", cwd=workspace) as screen:
        screen.expect("you> ")
        screen.type(CTRL_C)
        assert screen.end() == 130
    assert "Traceback" not in screen.text
