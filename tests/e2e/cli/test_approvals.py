"""Approvals given from elsewhere: listed, looked at, approved and denied, by processes that know only the disk."""

import json
from pathlib import Path

import pytest

from skills_runtime.cli.approvals import find_undecided, resume_after_decision
from skills_runtime.cli.options import ConfigOptions, ViewOptions, open_service
from skills_runtime.cli.program import Program
from skills_runtime.errors import ApprovalStale
from skills_runtime.ports import InboxMessage
from skills_runtime.safety.policy import load_rules
from tests.e2e.cli.asking import ASK, FIRST, PARKED, SECOND, asked, events, park
from tests.e2e.cli.programs import call, invoke, say, write, write_config
from tests.e2e.cli.terminals import CTRL_D, on_a_terminal
from tests.e2e.cli.test_bad_input import assert_refused

TERMINAL = ("run", "Write it", "--config", "kgent.yaml", "--sandbox", "runs/r")


def test_a_parked_run_is_found_looked_at_and_approved_by_other_processes(workspace: Path) -> None:
    write_config(workspace, say("", write(FIRST, "hello\n")), say("Written."), **ASK)
    parked = call("kgent", *TERMINAL, *PARKED, cwd=workspace)
    name = asked()[9:17]
    assert (parked.code, parked.out) == (26, "")
    assert f"approve  kgent approvals approve {name}" in parked.err
    listed = call("kgent", "approvals", "list", cwd=workspace)
    assert [line.split()[:5] for line in listed.out.splitlines()[1:]] == [[name, "r", "file_write", "create", FIRST]]
    page = call("kgent", "approvals", "show", name, cwd=workspace).out
    assert f"  create {FIRST}  +1\n    @@ -0,0 +1 @@\n    +hello\n" in page
    assert "asked by   safety.mode: ask" in page
    assert not Path("runs/r", FIRST).exists()
    done = call("kgent", "approvals", "approve", name, "--note", "checked", cwd=workspace)
    assert (done.code, done.out) == (0, "Written.\n")
    assert Path("runs/r", FIRST).read_text() == "hello\n"
    (decided,) = events("approval_decided")
    assert (decided["decision"], decided["note"], bool(decided["decided_by"])) == ("approved", "checked", True)
    assert call("kgent", "approvals", "list", cwd=workspace) == (0, "", "no pending approvals\n")


def test_a_run_killed_at_the_terminal_is_approved_from_elsewhere(workspace: Path) -> None:
    write_config(workspace, say("", write(FIRST)), say("Written."), **ASK)
    with on_a_terminal("kgent", *TERMINAL, cwd=workspace) as screen:
        screen.expect("allow? ")
    # Leaving the block has killed it, with no time to say anything.
    done = call("kgent", "approvals", "approve", "r", cwd=workspace)
    assert (done.code, done.out) == (0, "Written.\n")
    assert len(events("approval_requested")) == 1


def test_a_decision_from_elsewhere_reaches_the_process_that_asks_at_its_terminal(workspace: Path) -> None:
    write_config(workspace, say("", write(FIRST)), say("Written."), **ASK)
    with on_a_terminal("kgent", *TERMINAL, cwd=workspace) as screen:
        screen.expect("allow? ")
        given = call("kgent", "approvals", "approve", "r", cwd=workspace)
        screen.expect("decided  approved by ")
        screen.expect("Written.\n")
        assert screen.end() == 0
    assert given.code == 0
    assert "by the process that owns the run" in given.out


def test_end_of_input_leaves_the_request_for_others(workspace: Path) -> None:
    write_config(workspace, say("", write(FIRST)), say("Written."), **ASK)
    with on_a_terminal("kgent", *TERMINAL, cwd=workspace) as screen:
        screen.expect("allow? ")
        screen.type(CTRL_D)
        screen.expect("the request stays open; decide later")
        screen.expect("approve  kgent approvals approve ")
        assert screen.end() == 26
    assert invoke("approvals", "approve", "r").code == 0


def test_the_reason_of_a_denial_reaches_the_model(workspace: Path) -> None:
    park(say("", write(FIRST)), say("Then not."))
    done = invoke("approvals", "deny", "r", "--reason", "use another name")
    assert (done.code, done.out) == (0, "Then not.\n")
    assert "     decided  denied by " in done.err
    (finished,) = events("tool_call_finished")
    assert "use another name" in finished["result"]["stderr"]
    assert not Path("runs/r", FIRST).exists()


def test_a_denial_may_end_the_run(workspace: Path) -> None:
    park()
    done = invoke("approvals", "deny", "r", "--abort", "--reason", "enough")
    assert done.code == 27
    assert "the approver stopped the run (enough)" in done.err


def test_a_second_decision_is_stale(workspace: Path) -> None:
    park()
    name = asked()
    invoke("approvals", "approve", name)
    answer = invoke("approvals", "deny", name)
    assert_refused(answer, 20, "approval_stale", f"no open request matches `{name}`")


def test_a_decision_that_lost_a_race_is_reported(workspace: Path) -> None:
    park()
    with open_service() as service:
        seen = find_undecided(service, "r", "kgent")
    assert invoke("approvals", "approve", "r").code == 0
    late = InboxMessage(
        id="msg_late", run_id="r", position=9, kind="approve", body={"decision": "denied"}, created_at="now"
    )
    with pytest.raises(ApprovalStale, match="is already decided: approved by "):
        resume_after_decision(seen, late, ConfigOptions(), ViewOptions(quiet=True), Program("kgent"))


def test_a_decision_waits_for_the_resume_and_cannot_be_revoked(workspace: Path) -> None:
    park()
    kept = invoke("approvals", "approve", "r", "--no-resume")
    assert (kept.code, kept.err) == (0, "  next: kgent runs resume r\n")
    assert "applied when the run resumes" in kept.out
    assert json.loads(invoke("approvals", "list", "--json").out)["decided"] == "approved"
    assert_refused(invoke("approvals", "deny", "r"), 20, "approval_stale", "is already decided: approved by ")
    done = invoke("runs", "resume", "r")
    assert (done.code, done.out) == (0, "Written.\n")


def test_changed_arguments_run_and_the_model_is_told(workspace: Path) -> None:
    park()
    edited = json.dumps({"path": SECOND, "content": "better\n"}).encode()
    assert invoke("approvals", "approve", "r", "--edit", "-", stdin=edited).code == 0
    assert Path("runs/r", SECOND).read_text() == "better\n"
    assert not Path("runs/r", FIRST).exists()
    (finished,) = events("tool_call_finished")
    assert finished["result"]["data"]["arguments_changed_by_approver"]["path"] == SECOND


def test_a_rule_for_the_run_is_shown_and_used_by_its_next_call(workspace: Path) -> None:
    park(say("", write(FIRST, "one\n")), say("", write(FIRST, "two\n")), say("Written."))
    done = invoke("approvals", "approve", "r", "--rule", "run")  # as before there were scopes
    assert (done.code, done.out) == (0, "Written.\n")
    assert f"the rule allows calls of `file_write` on `./{FIRST}` in this run\n" in done.err
    assert "    effect: allow " in done.err
    assert Path("runs/r", FIRST).read_text() == "two\n"
    assert len(events("approval_requested")) == 1


def test_a_rule_for_the_user_is_kept_in_their_file_and_used_by_the_next_run(workspace: Path, home: Path) -> None:
    park()
    done = invoke("approvals", "approve", "r", "--scope", "always")
    assert done.code == 0
    assert f"the rule allows calls of `file_write` on `./{FIRST}` in all your runs; delete it from " in done.err
    (file,) = home.rglob("rules.yaml")
    assert f"path: ./{FIRST}" in file.read_text()
    assert park(run_id="again").code == 0
    assert events("approval_requested", "runs/again") == []


def name_of(file: Path) -> str:
    """The name of the only rule of a file."""
    (rule,) = load_rules(file.read_text(), origin="")
    return rule.name


def test_a_rule_for_a_folder_names_the_folder_of_its_run(workspace: Path, home: Path) -> None:
    park()
    elsewhere = workspace / "elsewhere"
    elsewhere.mkdir()
    run = events("approval_requested")[0]["approval_id"]
    done = call("kgent", "approvals", "approve", run, "--scope", "folder", cwd=elsewhere)
    assert (done.code, done.out) == (0, "Written.\n")
    (file,) = home.rglob("rules.yaml")
    assert f"folder: {workspace.resolve()}\n" in file.read_text()
    (decided,) = events("approval_decided")
    assert decided["rule"]["scope"] == "folder"
    shown = invoke("runs", "show", "r").out
    assert f"{name_of(file)} allows calls of `file_write` on `./{FIRST}` in this folder\n" in shown
    assert park(run_id="again").code == 0
    planned = json.dumps({"tool": "file_write", "arguments": {"path": FIRST, "content": "x"}}).encode()
    explained = invoke("policy", "explain", "-", "--config", "kgent.yaml", stdin=planned)
    assert (explained.code, "rules.yaml, this folder only)" in explained.out) == (0, True)


@pytest.mark.parametrize("both", [("--scope", "folder", "--edit", "x.json"), ("--scope", "session", "--rule", "run")])
def test_scopes_exclude_other_ways_to_approve(workspace: Path, both: tuple[str, ...]) -> None:
    park()
    assert_refused(invoke("approvals", "approve", "r", *both), 2, "usage", "exclude each other")


def test_a_denial_counts_although_a_rule_allows_the_call_since(workspace: Path, home: Path) -> None:
    park(say("", write(FIRST)), say("Then not."))
    assert invoke("approvals", "deny", "r", "--reason", "not now", "--no-resume").code == 0
    file = home / ".config/skills_runtime/rules.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("rules:\n  - {name: writes, effect: allow, tool: file_write, path: '**'}\n")
    assert invoke("runs", "resume", "r").out == "Then not.\n"
    (decided,) = events("approval_decided")
    assert (decided["decision"], decided["note"]) == ("denied", "not now")
    assert not Path("runs/r", FIRST).exists()


def test_an_approval_is_recorded_although_the_call_has_changed_and_a_rule_allows_it_since(workspace: Path) -> None:
    park()
    assert invoke("approvals", "approve", "r", "--scope", "always", "--no-resume").code == 0
    Path("runs/r/deliverables").mkdir(exist_ok=True)
    Path("runs/r", FIRST).write_text("somebody else's\n")
    assert invoke("runs", "resume", "r").out == "Written.\n"
    assert [decided["decision"] for decided in events("approval_decided")] == ["approved"]
    assert events("approval_refused") == []


def test_an_approval_for_the_session_holds_for_the_very_same_call(workspace: Path) -> None:
    both = say("", write(FIRST, "same\n"), write(SECOND, "same\n"))
    park(both, say("Written."))
    assert invoke("approvals", "approve", "r", "--scope", "session").code == 26
    (decided,) = events("approval_decided")
    assert decided["decision"] == "approved_for_session"


def test_what_changed_after_it_was_asked_about_is_asked_about_again(workspace: Path) -> None:
    park()
    Path("runs/r/deliverables").mkdir(exist_ok=True)
    Path("runs/r", FIRST).write_text("somebody else's\n")
    answer = invoke("approvals", "approve", "r")
    assert answer.code == 26
    assert "void  the call has changed, so approval is requested again\n" in answer.err
    assert "an approval of file_write" in answer.err
    assert Path("runs/r", FIRST).read_text() == "somebody else's\n"
    assert invoke("approvals", "approve", "r").code == 0


def test_the_next_approval_of_a_run_that_goes_on_without_a_terminal_waits_too(workspace: Path) -> None:
    park(say("", write(FIRST)), say("", write(SECOND)), say("Written."))
    assert invoke("approvals", "approve", "r").code == 26
    assert invoke("approvals", "approve", "r").code == 0


def test_without_an_approver_a_run_fails_and_nothing_happens(workspace: Path) -> None:
    write_config(workspace, say("", write(FIRST)), say("Written."), **ASK)
    for more in ((), ("--approvals", "none")):
        answer = invoke("run", "Write it", "--config", "kgent.yaml", "--run-id", f"r{len(more)}", *more)
        assert answer.code == 1
        assert "no approver is available" in answer.err


@pytest.mark.parametrize("command", [("run", "Write it"), ("runs", "resume", "r")])
def test_a_terminal_that_is_not_there_is_refused(workspace: Path, command: tuple[str, ...]) -> None:
    park()
    assert_refused(invoke(*command, "--approvals", "terminal"), 20, "validation", "needs an interactive terminal")
