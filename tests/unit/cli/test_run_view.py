"""How a run looks while it works and when it ends, for every way it can end."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from skills_runtime.cli.output import justify_line, stderr_console, stdout_console, truncate
from skills_runtime.cli.run_text import Steps
from skills_runtime.cli.run_view import QuietView, RunOutcome
from skills_runtime.errors import StorageFailed
from skills_runtime.events.payloads import (
    ApprovalDecided,
    ApprovalRequested,
    RunFailed,
)
from skills_runtime.events.states import RunStatus
from skills_runtime.projections import RunState, fold
from tests.unit.cli.showing import asked, ending, events, finished, shown


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (RunStatus.COMPLETED, 0),
        (RunStatus.FAILED, 1),
        (RunStatus.CANCELLED, 27),
        (RunStatus.WAITING_FOR_USER, 26),
        (RunStatus.WAITING_FOR_TOOL, 26),
        (RunStatus.REVIEW_REQUIRED, 26),
        (RunStatus.REVISION_REQUIRED, 26),
        (RunStatus.PENDING, 1),
        (RunStatus.RUNNING, 1),
    ],
)
def test_every_state_a_run_can_be_left_in_has_its_exit_code(status: RunStatus, code: int) -> None:
    assert ending(status).exit_code == code


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (RunStatus.WAITING_FOR_USER, "stopped", 130),
        (RunStatus.RUNNING, None, 130),
        (RunStatus.PENDING, None, 130),
        (RunStatus.WAITING_FOR_USER, "human_required", 26),
        (RunStatus.COMPLETED, None, 0),
    ],
)
def test_only_a_run_that_a_signal_stopped_exits_with_the_signal(status: RunStatus, kind: str | None, code: int) -> None:
    state = RunState(run_id="r", status=status, waiting_kind=kind)
    assert RunOutcome(Path("/runs/r"), state, signal=2).exit_code == code


def test_a_run_that_could_not_go_on_exits_23() -> None:
    assert ending(RunStatus.RUNNING, trouble=StorageFailed("the disk is full")).exit_code == 23


def test_steps_are_numbered_and_say_what_they_are_about() -> None:
    steps = fold(events(asked("a", path="x.md", size=3), asked("b", argv=["git", "log"]), asked("c", n=1)), Steps())
    assert [(step.number, step.subject) for step in steps.all] == [(1, "x.md"), (2, "git log"), (3, "")]


def test_a_step_waits_while_a_decision_is_pending() -> None:
    waiting = events(asked(), ApprovalRequested(approval_key="k", tool="shell", call_id="c"))
    assert fold(waiting, Steps()).all[0].progress == "waiting"
    decided = events(asked(), ApprovalDecided(approval_key="k", decision="approved", call_id="c"))
    assert fold(decided, Steps()).all[0].progress == "running"


@pytest.mark.parametrize(
    ("result", "outcome", "reason"),
    [
        ({"ok": False, "exit_code": 1, "stderr": "2 failed\nmore"}, "exit 1", "2 failed"),
        ({"ok": False, "error_kind": "timeout", "duration_ms": 5}, "timeout", ""),
        ({"ok": False}, "failed", ""),
        ({"ok": True, "exit_code": 0, "stderr": "warning"}, "exit 0", ""),
        ({"ok": True}, "", ""),
    ],
)
def test_a_step_says_how_it_failed(result: dict[str, Any], outcome: str, reason: str) -> None:
    (step,) = fold(events(asked(), finished(**result)), Steps()).all
    assert (step.outcome, step.reason) == (outcome, reason)


def test_a_result_without_a_call_is_ignored() -> None:
    assert fold(events(finished("other", ok=True)), Steps()).all == []


def test_in_a_file_lines_are_whole_however_long_they_are() -> None:
    text = shown(asked(path="a" * 300), finished(ok=True), end=ending(RunStatus.COMPLETED))
    assert "a" * 200 in text
    assert "…" not in text


def test_on_a_terminal_lines_fit() -> None:
    payloads = (asked(path="长" * 100), finished(ok=False, error_kind="exit", stderr="x" * 300))
    text = shown(*payloads, end=ending(RunStatus.COMPLETED), width=50)
    visible = [
        line for line in text.replace("\x1b[?25l", "").replace("\x1b[?25h", "").splitlines() if "\x1b" not in line
    ]
    assert visible
    assert all(Text(line).cell_len <= 50 for line in visible)


def test_the_reason_of_a_failure_is_never_cut() -> None:
    reason = "because " * 40
    text = shown(
        RunFailed(error_kind="x", message=reason, details={"hint": "try again"}),
        end=ending(RunStatus.FAILED, failure_reason=reason),
        width=60,
    )
    assert text.count("because") == 40
    assert "hint   try again" in text


def test_a_run_the_disk_stopped_says_so_and_not_that_it_runs() -> None:
    text = shown(end=ending(RunStatus.RUNNING, trouble=StorageFailed("the disk is full")))
    assert " stopped  the disk is full " in text
    assert "free some space" in text


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (ending(RunStatus.COMPLETED), ""),
        (
            ending(RunStatus.FAILED, failure_reason="no report", error_kind="validation"),
            "error: the run `r` is failed: no report\n  kind: validation\n",
        ),
        (
            ending(RunStatus.RUNNING, trouble=StorageFailed("the disk is full", hint="buy one")),
            "error: the disk is full\n  kind: storage_error\n  hint: buy one\n",
        ),
    ],
)
def test_a_quiet_run_only_says_why_there_is_no_answer(
    end: RunOutcome, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    QuietView().finish(end)
    assert capsys.readouterr() == ("", told)


def test_the_right_side_of_a_line_stands_at_the_edge_also_behind_wide_characters() -> None:
    console = Console(file=io.StringIO(), width=30, force_terminal=True)
    line = justify_line(console, Text("文件 report.md"), Text("3 ms"))
    assert line.cell_len == 30
    assert line.plain.endswith("  3 ms")


@pytest.mark.parametrize(("text", "width", "result"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("长长长", 4, "长…")])
def test_text_is_cut_by_cells(text: str, width: int, result: str) -> None:
    assert truncate(text, width) == result


@pytest.mark.parametrize("to_stderr", [True, False])
def test_no_color_means_no_styles_at_all(monkeypatch: pytest.MonkeyPatch, to_stderr: bool) -> None:
    make = stderr_console if to_stderr else stdout_console
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert make().color_system is not None
    assert make(no_color=True).color_system is None
    monkeypatch.setenv("NO_COLOR", "1")
    assert make().color_system is None
