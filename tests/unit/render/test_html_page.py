"""The page of a run is whole by itself, in two languages, and whatever a run said stays text in it."""

import re
from html.parser import HTMLParser

import pytest

from skills_runtime.events import Event, Payload
from skills_runtime.events.payloads import (
    ApprovalDecided,
    ApprovalRequested,
    ChildRunFinished,
    ChildRunStarted,
    ContextCompacted,
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    OutputRejected,
    RunCompleted,
    RunCreated,
    RunStarted,
    ToolCallFinished,
    ToolCallRequested,
)
from skills_runtime.projections import RunState, fold
from skills_runtime.render.html_page import POLICY, PageFile, escape_html, render_page
from tests.support.events import numbered

HOSTILE = '</pre><script>alert(1)</script><img src="http://evil.example/x" onerror=alert(1)>\u202e\x1b[31m&'


def created(profile_id: str = "p") -> RunCreated:
    return RunCreated(
        schema="x", key_id="k", session_id="s", task_id="t", profile_id=profile_id, config_fingerprint="f"
    )


def log(*payloads: Payload) -> list[Event]:
    return numbered(payloads)


def hostile_log() -> list[Event]:
    return log(
        created(HOSTILE),
        RunStarted(task=HOSTILE),
        LlmRequestStarted(model=HOSTILE),
        LlmResponseDelta(delta_type="text", text=HOSTILE),
        ToolCallRequested(call_id="c", tool=HOSTILE, name=HOSTILE, arguments={HOSTILE: HOSTILE}),
        LlmResponseFinished(finish_reason="stop"),
        ApprovalRequested(approval_key="k", tool=HOSTILE, summary=HOSTILE, rule=HOSTILE, risk={"level": HOSTILE}),
        ApprovalDecided(approval_key="k", decision=HOSTILE, note=HOSTILE, decided_by=HOSTILE),
        ChildRunStarted(call_id="c", child_run_id=HOSTILE, root=HOSTILE, message=HOSTILE),
        ChildRunFinished(child_run_id=HOSTILE, status=HOSTILE),
        ToolCallFinished(call_id="c", tool=HOSTILE, result={"ok": True, "stdout": HOSTILE}),
        OutputRejected(message=HOSTILE),
        ContextCompacted(summary=HOSTILE, kept_messages=1),
        RunCompleted(final_output=HOSTILE),
    )


def page(language: str = "en", events: list[Event] | None = None) -> str:
    files = [PageFile(HOSTILE, 3, "0" * 64)] if events is None else []
    events = hostile_log() if events is None else events
    return "".join(render_page(fold(events, RunState()), events, files, language))  # pyright: ignore[reportArgumentType]


class Tags(HTMLParser):
    """Every tag there is, with its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_output_of_a_run_stays_text(language: str) -> None:
    tags = Tags()
    tags.feed(page(language))
    assert {tag for tag, _ in tags.found}.isdisjoint({"script", "img", "iframe", "link", "object", "a", "form"})
    assert all(
        name in ("lang", "charset", "class", "content", "name", "http-equiv") for _, has in tags.found for name in has
    )
    assert "\u202e" not in page(language)
    assert "\x1b" not in page(language)


def test_the_page_has_its_own_content_policy_and_makes_no_requests() -> None:
    text = page(events=log(created(), RunStarted(task="hello")))
    assert POLICY in text
    assert "unsafe-inline" not in text
    assert not re.search(r"https?://", text)


def test_headings_come_in_both_languages() -> None:
    assert "Log" in page("en")
    assert "经过" in page("zh")
    assert 'lang="zh-CN"' in page("zh")


def test_the_task_is_reported_when_work_begins_and_not_when_it_goes_on() -> None:
    began = RunStarted(task="hello", resume={"enabled": False})
    again = RunStarted(task="hello", resume={"enabled": True})
    assert page(events=log(created(), began)) == page(events=log(created(), began, again))
    assert (
        page(events=log(created(), began)).count(">hello<") == page(events=log(created(), again)).count(">hello<") + 1
    )


def test_corrections_summaries_and_runs_of_their_own_are_reported() -> None:
    events = log(
        created(),
        OutputRejected(message="not JSON"),
        ContextCompacted(summary="so far", kept_messages=2),
        ChildRunStarted(call_id="c", child_run_id="run_child", root="/nowhere", message="look"),
        ChildRunFinished(child_run_id="run_child", status="completed"),
    )
    text = page(events=events)
    for told in ("not JSON", "so far", "Sub-agent run_child", "look"):
        assert told in text


def test_an_answer_is_one_entry_however_it_came() -> None:
    events = log(
        created(),
        LlmRequestStarted(model="m"),
        LlmResponseDelta(delta_type="text", text="one "),
        LlmResponseDelta(delta_type="text", text="answer"),
        LlmResponseFinished(finish_reason="stop"),
    )
    assert page(events=events).count('<article class="answer">') == 1
    assert "one answer" in page(events=events)


def test_invisible_characters_are_escaped() -> None:
    assert escape_html("a\u202eb\x00\n<") == "a\\u202eb\\x00\n&lt;"
