"""Somebody at a terminal: questions, approvals and Ctrl-C, with the real program."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli.models import slow_model
from tests.e2e.cli.programs import SCRIPTS, call, invoke, say, write, write_config
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
        screen.expect("     Which colour?\n     1   red\n     2   blue\n     answer> ")
        screen.type("2\n")
        screen.expect("Painted blue.\n")
        screen.expect(" done ")
        assert screen.end() == 0
    assert screen.text.count("Painted blue.") == 1
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
        screen.expect("folder:")
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


def test_words_are_shown_while_they_arrive_and_kept_when_the_run_is_stopped(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"MODEL_KEY": "secret", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    with slow_model(workspace), on_a_terminal("skills-runtime", *RUN, cwd=workspace) as screen:
        screen.expect("I begin")  # and the answer does not end
        screen.type(CTRL_C)
        screen.expect("stopping; press Ctrl-C again to exit at once\n")
        screen.expect(" stopped; resume with: skills-runtime runs resume r")
        assert screen.end() == 130


def test_output_of_a_command_is_shown_with_its_exit_code(workspace: Path) -> None:
    write_config(workspace, say("I count.", ("shell_command", {"command": "seq 1 9; exit 3"})), say("Counted."))
    with on_a_terminal("skills-runtime", *RUN, cwd=workspace, columns=80) as screen:
        screen.expect("I count.\n")
        screen.expect("  1  shell_command seq 1 9; exit 3 ")
        screen.expect(" exit 3 ")
        for row in ("1", "2", "3", "4", "5", "… 4 more lines"):
            screen.expect(f"     {row}\n")
        screen.expect("Counted.\n")
        screen.expect(" done ")
        assert screen.end() == 0
    assert screen.text.count("Counted.") == 1


def test_an_answer_that_goes_to_a_file_is_whole_there_and_not_on_the_terminal(workspace: Path) -> None:
    write_config(workspace, say("I write.", write("deliverables/a.md")), say("Written."))
    line = f"{shlex.quote(str(SCRIPTS / 'skills-runtime'))} {shlex.join(RUN)} > answer.txt"
    with on_a_terminal("/bin/sh", "-c", line, cwd=workspace) as screen:
        screen.expect("I write.\n")
        screen.expect(" done ")
        assert screen.end() == 0
    assert (workspace / "answer.txt").read_text() == "Written.\n"
    assert "Written." not in screen.text


def test_a_list_at_80_columns_shows_what_the_task_was(workspace: Path) -> None:
    write_config(workspace, say("Done."))
    task = "Summarize the minutes of the meeting in three sentences"
    assert invoke("run", task, "--config", "kgent.yaml", "-q").code == 0
    with on_a_terminal("skills-runtime", "runs", "list", cwd=workspace, columns=80) as screen:
        screen.expect("Summarize the minutes of the mee")
        assert screen.end() == 0
    assert not [row for row in screen.text.splitlines() if row != row.rstrip()]


def test_a_resumed_step_keeps_its_argument(workspace: Path) -> None:
    write_config(workspace, say("", write("deliverables/a.md")), say("Written."), **ASK)
    assert invoke(*RUN, "--approvals", "inbox", "-q").code == 26
    with on_a_terminal("skills-runtime", "runs", "resume", "last", cwd=workspace) as screen:
        screen.page_to("allow? ")
        screen.type("y\n")
        screen.expect("  1  file_write deliverables/a.md ")
        assert screen.end() == 0
