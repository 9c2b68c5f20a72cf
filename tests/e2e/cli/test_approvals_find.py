"""Which request somebody means, and what programs are told about it."""

import json
from pathlib import Path

import pytest

from skills_runtime.clock import SystemClock
from tests.e2e.cli.asking import FIRST, asked, events, park
from tests.e2e.cli.programs import invoke, say, write
from tests.e2e.cli.test_bad_input import assert_refused


def test_a_request_is_named_by_its_id_how_that_begins_or_its_run(workspace: Path) -> None:
    park()
    name = asked()
    for text in (name, name[:12], name[9:], name[9:13], "r", "runs/r"):
        shown = invoke("approvals", "show", text, "--json")
        assert json.loads(shown.out)["approval_id"] == name


def test_a_beginning_that_fits_several_requests_is_refused(workspace: Path) -> None:
    park()
    park(run_id="other")
    answer = invoke("approvals", "approve", "approval_")
    assert_refused(answer, 20, "validation", "several requests start with `approval_`")


@pytest.mark.parametrize("text", ["nothing", "approval_ffff", "\x1b[2J", "-1", " "])
def test_a_request_that_is_not_open_is_stale(workspace: Path, text: str) -> None:
    park()
    for verb in ("show", "approve", "deny"):
        assert_refused(invoke("approvals", verb, "--", text), 20, "approval_stale", "no open request matches")


def _much_later(clock: SystemClock) -> str:
    return "2999-01-01T00:00:00.000000Z"


def test_a_request_that_has_expired_cannot_be_decided_any_more(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    park()
    monkeypatch.setattr(SystemClock, "now", _much_later)
    assert invoke("approvals", "list").out.splitlines()[1].endswith(" expired")
    for verb in ("approve", "deny"):
        assert_refused(invoke("approvals", verb, "r"), 20, "approval_stale", "could be decided until")
    assert events("approval_decided") == []


def test_a_run_that_asks_nothing_has_no_request(workspace: Path) -> None:
    park(say("Nothing to do."))
    assert_refused(invoke("approvals", "show", "r"), 20, "approval_stale", "no open request matches `r`")


def test_a_fork_asks_on_its_own(workspace: Path) -> None:
    park()
    assert invoke("runs", "fork", "r", "--run-id", "fork", "--approvals", "inbox").code == 26
    assert invoke("approvals", "approve", "fork").code == 0
    assert events("approval_decided") == []


def test_requests_are_listed_oldest_first_for_all_workspaces(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    park(run_id="first")
    elsewhere = workspace.parent / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    park(run_id="second")
    rows = [json.loads(line) for line in invoke("approvals", "list", "--json").out.splitlines()]
    assert [row["run_id"] for row in rows] == ["first", "second"]
    assert (rows[0]["tool"], rows[0]["decided"]) == ("file_write", None)
    assert rows[0]["path"] == str(workspace / "runs/first")
    assert invoke("approvals", "approve", "first").code == 0
    assert (workspace / "runs/first" / FIRST).exists()


def test_a_program_is_shown_the_exact_call_and_what_to_run(workspace: Path) -> None:
    park(say("", write(FIRST, "hello\n")), say("Written."))
    data = json.loads(invoke("approvals", "show", "r", "--json").out)
    assert data["request"]["details"] == {"path": FIRST, "content": "hello\n"}
    assert "+hello" in data["request"]["intent"]["files"][0]["diff"]
    assert data["commands"]["approve"] == f"kgent approvals approve {asked()[9:17]}"


def test_a_program_gets_the_log_of_the_run_that_goes_on(workspace: Path) -> None:
    park()
    answer = invoke("approvals", "approve", "r", "--json")
    assert answer.err == ""
    assert json.loads(answer.out.splitlines()[-1])["type"] == "run_completed"


def test_a_program_gets_the_decision_that_is_only_kept(workspace: Path) -> None:
    park()
    answer = invoke("approvals", "deny", "r", "--no-resume", "--json", "--reason", "no")
    body = json.loads(answer.out)["body"]
    assert (body["approval_id"], body["decision"], body["note"]) == (asked(), "denied", "no")


def test_what_waits_is_reported_wherever_runs_are_shown(workspace: Path) -> None:
    park()
    assert "◆ asks you · 1 approval" in invoke("runs", "list").out
    assert "approvals list" in invoke("runs", "list").err
    page = invoke("runs", "show", "r").out
    assert f"approve     kgent approvals approve {asked()[9:17]}" in page
    again = invoke("runs", "resume", "r", "-q")
    assert again.code == 26
    assert "approvals approve" in again.err


@pytest.mark.parametrize(
    ("text", "problem"), [("[1]", "not a JSON object"), ("{", "not valid JSON"), ('"x"', "not a JSON object")]
)
def test_arguments_that_are_none_are_refused_and_decide_nothing(workspace: Path, text: str, problem: str) -> None:
    park()
    answer = invoke("approvals", "approve", "r", "--edit", "-", stdin=text.encode())
    assert_refused(answer, 20, "validation", problem)
    assert json.loads(invoke("approvals", "list", "--json").out)["decided"] is None


@pytest.mark.parametrize(
    "more",
    [("--session", "--rule", "run"), ("--session", "--edit", "-"), ("--rule", "run", "--edit", "-"), ("--rule", "all")],
)
def test_grants_that_contradict_each_other_are_misuse(workspace: Path, more: tuple[str, ...]) -> None:
    park()
    assert invoke("approvals", "approve", "r", *more).code == 2


def test_a_rule_for_a_skill_needs_a_skill(workspace: Path) -> None:
    park()
    assert_refused(invoke("approvals", "approve", "r", "--rule", "skill"), 20, "validation", "belongs to no skill")
