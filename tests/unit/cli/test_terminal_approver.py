"""Somebody at a terminal decides on calls: nothing but a clear yes is a yes."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.cli.terminal import TerminalApprover
from skills_runtime.ports import ApprovalRequest, Decision, DecisionKind, Intent, Parked
from skills_runtime.safety.policy import load_rules
from tests.unit.cli.seat import END, Tty, open_tty, seated

HIGH = {"level": "high", "reason": "deletes a whole tree", "part": "rm -rf ."}


@pytest.fixture
def tty() -> Iterator[Tty]:
    with open_tty() as both:
        yield both


def request(risk: dict[str, str] | None = None, intent: Intent | None = None, /, **arguments: Any) -> ApprovalRequest:
    return ApprovalRequest(
        approval_key="0123456789abcdef",
        tool="do",
        summary="do it",
        details=arguments,
        call_id="c",
        rule="safety.mode: ask",
        risk=risk or {},
        intent=intent or Intent(),
    )


async def decided(tty: Tty, asked: ApprovalRequest, *lines: str, rule_file: Path | None = None) -> tuple[Decision, str]:
    terminal, screen = seated(tty, *lines)
    approver = TerminalApprover(terminal, approver="ada", rule_file=rule_file)
    return await approver.request_approval(request=asked), screen.getvalue()


async def kind(tty: Tty, asked: ApprovalRequest, *lines: str) -> DecisionKind:
    return (await decided(tty, asked, *lines))[0].decision


@pytest.mark.parametrize(
    ("typed", "decision"),
    [
        ("y\n", "approved"),
        ("YES\n", "approved"),
        ("s\n", "approved_for_session"),
        ("n no need\n", "denied"),
        ("\n", "denied"),
        ("q\n", "abort"),
    ],
)
async def test_a_decision_is_one_letter_and_names_the_user(tty: Tty, typed: str, decision: DecisionKind) -> None:
    made, _ = await decided(tty, request(), typed)
    assert (made.decision, made.decided_by) == (decision, "ada")


@pytest.mark.parametrize("typed", ["sure\n", "yes please\n", "s s\n", "a e\n", "r\n", "yy\n", "ok\n", "1\n"])
async def test_anything_that_is_not_clear_is_asked_again(tty: Tty, typed: str) -> None:
    made, shown = await decided(tty, request(), typed, "\n")
    assert made.decision == "denied"
    assert "answer with y, s, f, a or n; ? shows details and more keys" in shown


@pytest.mark.parametrize(
    ("typed", "note"), [(("n use the mirror\n",), "use the mirror"), (("n\n", "too much\n"), "too much")]
)
async def test_a_no_may_have_a_reason(tty: Tty, typed: tuple[str, ...], note: str) -> None:
    assert (await decided(tty, request(), *typed))[0].note == note


@pytest.mark.parametrize("nothing", ["\n", END])
async def test_a_no_needs_no_reason(tty: Tty, nothing: str) -> None:
    made, _ = await decided(tty, request(), "n\n", nothing)
    assert (made.decision, made.note) == ("denied", "")


async def test_end_of_input_leaves_the_request_for_later(tty: Tty) -> None:
    with pytest.raises(Parked):
        await decided(tty, request(), END)


async def test_a_terminal_that_was_closed_decides_nothing(tty: Tty) -> None:
    terminal, _ = seated(tty)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, tty[0])  # hangs up, and leaves a descriptor for the fixture to close
    os.close(nothing)
    with pytest.raises(Parked):
        await TerminalApprover(terminal).request_approval(request=request())


@pytest.mark.parametrize("letter", ["y\n", "s\n"])
async def test_one_letter_does_not_allow_what_is_of_high_risk(tty: Tty, letter: str) -> None:
    assert await kind(tty, request(HIGH), letter, letter, "\n") == "denied"


async def test_what_is_of_high_risk_needs_a_typed_yes(tty: Tty) -> None:
    assert await kind(tty, request(HIGH), "yes\n") == "approved"
    assert await kind(tty, request(HIGH), "y\n", "yes\n") == "approved"
    assert await kind(tty, request(HIGH), "s\n", "Yes\n") == "approved_for_session"


async def test_what_was_typed_before_the_question_was_seen_approves_nothing(tty: Tty) -> None:
    os.write(tty[0], b"y\n")
    assert await kind(tty, request(command="rm -rf ."), "\n") == "denied"


async def test_a_yes_pasted_behind_the_letter_is_not_a_typed_yes(tty: Tty) -> None:
    assert await kind(tty, request(HIGH), "y\nyes\n", "\n", "\n") == "denied"


def in_folder(risk: dict[str, str] | None = None, intent: Intent | None = None) -> ApprovalRequest:
    return msgspec.structs.replace(request(risk, intent), folder="/project")


async def test_a_rule_for_this_folder_is_shown_in_full_before_it_is_added(tty: Tty, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    made, shown = await decided(tty, in_folder(), "f\n", "y\n", rule_file=file)
    assert (made.decision, made.rule["scope"]) == ("approved", "folder")
    (rule,) = load_rules(file.read_text(), origin="test")
    assert (rule.effect, rule.tool, rule.folder) == ("allow", ("do",), "/project")
    assert load_rules(made.rule["text"], origin="test") == (rule,)
    assert "allows calls of `do` in this folder" in " ".join(shown.partition("add it?")[0].split())
    assert shown.index("folder: /project") < shown.index("add it?")
    assert "delete it there to be asked again" in " ".join(shown.split())


async def test_a_rule_for_always_is_added_to_the_users_own(tty: Tty, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    made, shown = await decided(tty, in_folder(), "a\n", "yes\n", rule_file=file)
    assert made.rule["scope"] == "user"
    assert [(rule.tool, rule.folder) for rule in load_rules(file.read_text(), origin="test")] == [(("do",), "")]
    assert "allows calls of `do` in all your runs" in " ".join(shown.split())


async def test_always_is_about_the_skill_where_there_is_one(tty: Tty, tmp_path: Path) -> None:
    asked = in_folder(None, Intent(skill="web.writer"))
    made, shown = await decided(tty, asked, "a\n", "y\n", rule_file=tmp_path / "rules.yaml")
    assert made.rule["scope"] == "skill"
    assert "allows calls of `do` by the skill `web.writer` in all your runs" in " ".join(shown.split())


async def test_a_rule_that_cannot_be_added_decides_nothing(tty: Tty, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("rules: []\n")
    made, shown = await decided(tty, in_folder(), "a\n", "y\n", "\n", rule_file=file)
    assert (made.decision, dict(made.rule)) == ("denied", {})
    assert "write them as a block list" in shown


@pytest.mark.parametrize("answer", ["\n", "n\n", "f\n", END])
async def test_a_rule_that_is_not_confirmed_is_not_added_and_decides_nothing(
    tty: Tty, answer: str, tmp_path: Path
) -> None:
    made, shown = await decided(tty, in_folder(), "f\n", answer, "\n", rule_file=tmp_path / "rules.yaml")
    assert (made.decision, dict(made.rule)) == ("denied", {})
    assert "no rule was added; answer again" in shown
    assert not (tmp_path / "rules.yaml").exists()


@pytest.mark.parametrize("name", ["rules.yaml", None])
async def test_a_yes_pasted_behind_the_letter_adds_no_rule(tty: Tty, tmp_path: Path, name: str | None) -> None:
    file = tmp_path / name if name else None
    made, _ = await decided(tty, in_folder(), "f\ny\n", "\n", "\n", rule_file=file)
    assert made.decision == "denied"
    assert list(tmp_path.iterdir()) == []


async def test_no_rule_is_offered_for_what_is_of_high_risk(tty: Tty, tmp_path: Path) -> None:
    made, shown = await decided(tty, in_folder(HIGH), "f\n", "a\n", "\n", rule_file=tmp_path / "rules.yaml")
    assert made.decision == "denied"
    assert "[f]" not in shown
    assert "no rule can be made of this call: it is of high risk" in shown


async def test_no_rule_is_offered_for_a_host_which_rules_do_not_decide(tty: Tty, tmp_path: Path) -> None:
    asked = msgspec.structs.replace(in_folder(), tool="network")
    made, shown = await decided(tty, asked, "a\n", "\n", rule_file=tmp_path / "rules.yaml")
    assert made.decision == "denied"
    assert "[a]" not in shown
    assert "add it to `sandbox.egress.allow`" in " ".join(shown.split())


async def test_a_request_is_asked_about_in_four_lines(tty: Tty, tmp_path: Path) -> None:
    fence = {"active": True, "profile": "workspace-write", "network": "none", "gaps": ["cpu: x", "disk: y"]}
    asked = msgspec.structs.replace(in_folder(None, Intent(line="make", fence=fence)), details={"command": "make"})
    _, shown = await decided(tty, asked, "\n", rule_file=tmp_path / "rules.yaml")
    assert [line.rstrip() for line in shown.splitlines()] == [
        "     do needs your approval",
        "       $ make",
        "       sandbox workspace-write, no network · asked by safety.mode: ask",
        "     [y] once  [s] session  [f] this folder  [a] always  [n] no  [?] details",
        "     allow?",
    ]


@pytest.mark.parametrize("key", ["?\n", "v\n"])
async def test_details_are_shown_on_a_key_and_name_the_other_keys(tty: Tty, key: str) -> None:
    fence = {"active": True, "adapter": "bubblewrap", "gaps": ["cpu: no limit"]}
    asked = msgspec.structs.replace(in_folder(None, Intent(line="make", fence=fence)), approval_id="approval_3f2a1234")
    terminal, screen = seated(tty, key, "\n")
    await TerminalApprover(terminal).request_approval(request=asked, timeout_ms=60_000)
    shown = " ".join(screen.getvalue().partition("allow? ")[2].split())
    for part in (
        "asked by safety.mode: ask",
        "gaps cpu: no limit",
        "[e] edit the call",
        "[q] deny it and stop the run",
    ):
        assert part in shown
    assert "without an answer the run waits; answer later with `approvals approve 3f2a1234`" in shown


async def test_a_line_of_shell_is_typed_anew_as_text(tty: Tty) -> None:
    asked = request(None, Intent(line="rm -rf build"), command="rm -rf build", timeout_ms=5)
    made, shown = await decided(tty, asked, "e\n", "rm -r 'my build'\n", "yes\n")
    assert made.decision == "approved"
    assert made.arguments == {"command": "rm -r 'my build'", "timeout_ms": 5}
    assert "instead: rm -r 'my build'" in shown


async def test_other_arguments_are_typed_anew_as_json(tty: Tty) -> None:
    made, _ = await decided(tty, request(n=1), "e\n", '{"n": 2}\n', "yes\n")
    assert made.arguments == {"n": 2}


@pytest.mark.parametrize("lines", [("\n",), ("[1]\n",), ("{n: 2}\n",), ('{"n": 2}\n', "y\n"), ('{"n": 2}\n', "\n")])
async def test_changed_arguments_need_to_be_arguments_and_a_typed_yes(tty: Tty, lines: tuple[str, ...]) -> None:
    made, _ = await decided(tty, request(n=1), "e\n", *lines, "\n")
    assert (made.decision, made.arguments) == ("denied", None)


async def test_asking_can_be_cancelled_and_leaves_the_terminal_to_the_next(tty: Tty) -> None:
    terminal, screen = seated(tty)
    asking = asyncio.create_task(TerminalApprover(terminal).request_approval(request=request()))
    while "allow?" not in screen.getvalue():
        await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait({asking})
    assert asking.cancelled()
    assert screen.getvalue().endswith("allow? \n")
    assert not asyncio.get_running_loop().remove_reader(tty[1])


async def test_the_time_to_decide_begins_when_the_request_is_seen(tty: Tty) -> None:
    terminal, screen = seated(tty)
    approver = TerminalApprover(terminal)
    async with terminal.exclusive():  # somebody is asked something else, and thinks about it
        asked = asyncio.create_task(approver.request_approval(request=request(), timeout_ms=20))
        assert (await asyncio.wait({asked}, timeout=0.1))[0] == set()
        assert screen.getvalue() == ""
    with pytest.raises(Parked):
        await asked
    assert "needs your approval" in screen.getvalue()


async def test_silence_decides_nothing_and_leaves_the_terminal_clean(tty: Tty) -> None:
    terminal, screen = seated(tty)
    asked = asyncio.create_task(TerminalApprover(terminal).request_approval(request=request(), timeout_ms=50))
    while "allow?" not in screen.getvalue():
        await asyncio.sleep(0)
    os.write(tty[0], b"y")  # half an answer
    with pytest.raises(Parked):
        await asked
    silence = "no answer within 50 ms; the run waits, and `approvals approve` resumes it"
    assert screen.getvalue().endswith(f"allow? \n     {silence}\n")
    os.set_blocking(tty[1], False)
    os.write(tty[0], b"\n")
    assert os.read(tty[1], 10) == b"\n"  # the shell that reads next gets nothing of it


LONG = {"text": "\n".join(f"line {number}" for number in range(100))}


@pytest.mark.parametrize("letter", ["y\n", "s\n", "f\n", "a\n"])
async def test_what_was_not_shown_whole_is_shown_before_a_yes_counts(tty: Tty, letter: str) -> None:
    made, shown = await decided(tty, request(**LONG), letter, "n no\n")
    assert made.decision == "denied"
    assert "line 99" in shown
    assert "this is the whole call; answer again" in shown


async def test_a_yes_counts_when_everything_was_shown(tty: Tty) -> None:
    assert await kind(tty, request(**LONG), "v\n", "y\n") == "approved"


async def test_a_no_needs_not_see_everything(tty: Tty) -> None:
    assert await kind(tty, request(**LONG), "n no\n") == "denied"


async def test_a_command_that_is_longer_than_the_screen_is_shown_page_by_page(tty: Tty) -> None:
    long = Intent(line="\n".join(f"echo {number}" for number in range(60)))
    terminal, screen = seated(tty, *["\n"] * 2, "y\n", height=24)
    made = await TerminalApprover(terminal).request_approval(request=request({}, long))
    shown = screen.getvalue()
    assert made.decision == "approved"
    assert shown.index("> echo 20\n") < shown.index("more lines; press enter to show") < shown.index("> echo 59")


async def test_approval_needs_all_pages_to_be_seen(tty: Tty) -> None:
    long = Intent(line="\n".join(f"echo {number}" for number in range(60)))
    terminal, screen = seated(tty, "q\n", "y\n", "q\n", "n no\n", height=24)
    made = await TerminalApprover(terminal).request_approval(request=request({}, long))
    assert made.decision == "denied"
    assert "the call was not shown in full" in screen.getvalue()
