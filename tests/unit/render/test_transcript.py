"""The transcript: prose that is a function of the events, and that nothing in them can break out of."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.events import Payload
from skills_runtime.events.payloads import (
    ApprovalDecided,
    ApprovalRefused,
    ApprovalRequested,
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    RunCreated,
    RunFailed,
    RunStarted,
    ToolCallFinished,
    ToolCallRequested,
)
from skills_runtime.render import render_transcript
from tests.support.events import numbered
from tests.support.runs import sample_events

BORN = RunCreated(
    schema="s", key_id="k", session_id="s1", task_id="t1", profile_id='odd "name"\n---', config_fingerprint="f"
)


def _text(*payloads: Payload) -> str:
    return "".join(render_transcript(numbered(payloads)))


def _entries(text: str) -> list[str]:
    """What a reader of Markdown sees as headings: those outside every fence."""
    headings: list[str] = []
    fence = ""
    for line in text.splitlines():
        if fence:
            fence = "" if line == fence else fence
        elif opening := re.fullmatch(r"(`{3,})text", line):
            fence = opening[1]
        elif line.startswith("## "):
            headings.append(line)
    assert not fence, "a fence was left open"
    return headings


def test_it_begins_with_the_ids() -> None:
    head = _text(BORN).split("---\n")[1]
    assert head.splitlines() == [
        "schema: kgent.transcript/v2",
        "run_id: run_test",
        "session_id: s1",
        "task_id: t1",
        'profile_id: "odd \\"name\\"\\n---"',
        "created_at: 2026-01-01T00:00:00Z",
    ]


def test_a_short_run_reads_as_it_happened() -> None:
    assert _entries(_text(*sample_events(end=True))) == [
        "## user",
        "## assistant",
        "## tool write (call call_1)",
        "## approval (requested)",
        "## approval (decided)",
        "## tool write (result of call_1)",
        "## assistant (question)",
        "## user (answer)",
        "## system",
    ]


def test_every_entry_names_its_event() -> None:
    text = _text(BORN, RunStarted(task="do it"), RunFailed(error_kind="k", message="m"))
    assert re.findall(r"<!-- event:(\d+) -->", text) == ["1", "2"]


def test_an_answer_that_broke_off_is_left_out() -> None:
    half = (LlmRequestStarted(model="m"), LlmResponseDelta(delta_type="text", text="half a sent"))
    assert _text(*half) == ""
    whole = (LlmRequestStarted(model="m"), LlmResponseDelta(delta_type="text", text="whole"))
    text = _text(*half, *whole, LlmResponseFinished(finish_reason="stop"))
    assert "half a sent" not in text
    assert "whole" in text


def test_a_request_tells_what_asked_and_how_bad_it_could_be() -> None:
    risk = {"level": "high", "reason": "deletes a whole tree", "part": "rm -rf ."}
    text = _text(
        ApprovalRequested(approval_id="a1", approval_key="k", tool="t", summary="t rm", rule="mode", risk=risk)
    )
    assert "\nt rm\nasked by: mode\nrisk: high: deletes a whole tree: rm -rf .\nid: a1\n" in text


def test_a_decision_shows_who_made_it_and_the_added_rule() -> None:
    rule = {"scope": "run", "text": "rules:\n- name: x\n"}
    decided = ApprovalDecided(
        approval_key="k",
        decision="approved",
        reason="inbox",
        decided_by="ada",
        note="fine",
        rule=rule,
        arguments_blob="b",
    )
    lines = "by: ada\nnote: fine\narguments: changed by the approver\nrule: added (run)\nrules:\n- name: x\n"
    assert f"\napproved (inbox)\n{lines}" in _text(decided)


def test_a_decision_that_does_not_count_is_an_entry() -> None:
    text = _text(ApprovalRefused(reason="expired", message="it came too late"))
    assert _entries(text) == ["## approval (refused)"]
    assert "\nexpired: it came too late\n" in text


def test_a_decision_tells_why() -> None:
    assert "denied (timeout)" in _text(ApprovalDecided(approval_key="k", decision="denied", reason="timeout"))


PIECES = ["`", "```", "\n", "\n## system\n", " ", "text\n", "---", "<!-- event:1 -->", "\r", "é"]
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@given(task=HOSTILE, answer=HOSTILE, tool=HOSTILE, output=HOSTILE)
def test_no_text_breaks_out_of_its_fence(task: str, answer: str, tool: str, output: str) -> None:
    text = _text(
        RunStarted(task=task),
        LlmRequestStarted(model="m"),
        LlmResponseDelta(delta_type="text", text="x" + answer),
        ToolCallRequested(call_id="c", tool=tool, name=tool, arguments={"a": answer}),
        LlmResponseFinished(finish_reason="tool_calls"),
        ToolCallFinished(call_id="c", tool=tool, result={"stdout": output}),
    )
    assert len(_entries(text)) == 4


@pytest.mark.parametrize("name", ["a\nb", "a\u2028## system", "x" * 500, "\x1b[31m"])
def test_a_heading_stays_one_printable_line(name: str) -> None:
    text = _text(ToolCallFinished(call_id="c", tool=name, result={}))
    (heading,) = [line for line in text.splitlines() if line.startswith("## ")]
    assert heading.isprintable()
    assert len(heading) <= 210
