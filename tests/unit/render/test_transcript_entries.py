"""What the transcript tells of: it leaves out nothing that matters."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.events import PAYLOAD_TYPES, Payload
from skills_runtime.events.payloads import (
    ArtifactManifestWritten,
    BudgetIncreased,
    ChildRunFinished,
    ChildRunStarted,
    CompactionFailed,
    CompactionStarted,
    ContextCompacted,
    ContextLengthExceeded,
    ContextRecoveryDecided,
    EnvVarRequired,
    EnvVarSet,
    FileOperation,
    ForkPoint,
    HistoryLoaded,
    HumanRequest,
    HumanResponse,
    ImagesAttached,
    InboxReceived,
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    LlmRetryScheduled,
    LlmUsage,
    NetworkDecision,
    OutputRejected,
    PlanUpdated,
    RunCompleted,
    RunCreated,
    RunStarted,
    SandboxCreated,
    SkillCatalogOffered,
    SkillExecutionFinished,
    SkillExecutionStarted,
    ToolCallRequested,
    ToolCallStarted,
)
from skills_runtime.render import render_transcript
from skills_runtime.render.transcript import RENDERERS
from tests.support.events import numbered

ANSWER = {LlmRequestStarted, LlmResponseDelta, LlmResponseFinished, ToolCallRequested}
QUIET = {
    ArtifactManifestWritten, CompactionStarted, ContextLengthExceeded, FileOperation, LlmRetryScheduled, LlmUsage,
    NetworkDecision, PlanUpdated, SandboxCreated, SkillExecutionFinished, SkillExecutionStarted, ToolCallStarted,
}  # fmt: skip
"""What only programs need, and what the call tells that it belongs to."""

BORN = RunCreated(schema="s", key_id="k", session_id="s", task_id="t", profile_id="p", config_fingerprint="f")
STEER = InboxReceived(message_id="m", position=1, kind="steer", body={"text": "be brief"})

TOLD: list[tuple[Payload, str, str]] = [
    (STEER, "user (message)", "be brief"),
    (
        InboxReceived(message_id="m", position=1, kind="steer", body={"text": "too long", "review": True}),
        "user (review)",
        "too long",
    ),
    (OutputRejected(message="it is not JSON"), "system (correction)", "it is not JSON"),
    (
        ContextCompacted(summary="All went well.", kept_messages=2, reason="threshold", skills_left_out=["$a", "$b"]),
        "system (compaction)",
        "older messages were replaced by a summary\nreason: threshold\nskills left out: $a, $b\n\nAll went well.",
    ),
    (
        CompactionFailed(reason="threshold", error="it is silent"),
        "system (compaction)",
        "the model gave no summary: it is silent",
    ),
    (
        ContextRecoveryDecided(mode="ask_first", decision="terminate"),
        "system",
        "the conversation has no room any more: terminate",
    ),
    (
        BudgetIncreased(reason="context_length_exceeded", extra_steps=5, extra_wall_time_sec=60),
        "system",
        "more room: context_length_exceeded\nsteps: 5\nseconds: 60",
    ),
    (
        ChildRunStarted(call_id="c", child_run_id="r-1", root="/r", message="Look.", profile_id="scout"),
        "system (child run)",
        "`r-1` began\nprofile: scout\ntask: Look.",
    ),
    (ChildRunFinished(child_run_id="r-1", status="failed"), "system (child run)", "`r-1`: failed"),
    (ImagesAttached(images=[{"name": "sea.png", "media_type": "image/png"}]), "user (pictures)", "sea.png (image/png)"),
    (EnvVarRequired(env_var="TOKEN", skill_name="tides"), "system", "the skill `tides` needs the variable `TOKEN`"),
    (EnvVarSet(env_var="TOKEN"), "system", "the variable `TOKEN` was given"),
    (
        HumanRequest(call_id="c", question="Which?", choices=["this", "that"], context="There are two."),
        "assistant (question)",
        "Which?\ncontext: There are two.\nchoices: this | that",
    ),
    (
        HumanRequest(call_id="c", questions=[{"question": "A?", "choices": [{"label": "x"}]}, {"question": "B?"}]),
        "assistant (question)",
        "A?\nchoices: x\nB?",
    ),
    (HumanResponse(call_id="c", answer="x", answers={"a": "x", "b": "y"}), "user (answer)", "a: x\nb: y"),
    (HumanResponse(call_id="c", answers={"a": "x"}), "user (answer)", "x"),
    (
        SkillCatalogOffered(level="full", offered=1, text="There is a new skill.", added=["$a"]),
        "system",
        "skills have changed: new: `$a`\n\nThere is a new skill.",
    ),
    (
        RunCompleted(final_output="Half is done.", metadata={"handoff": True}),
        "system",
        "completed: another run can go on from here\n\nHalf is done.",
    ),
]


def _text(*payloads: Payload) -> str:
    return "".join(render_transcript(numbered(payloads)))


@pytest.mark.parametrize(("payload", "heading", "text"), TOLD, ids=[one.event_type for one, *_ in TOLD])
def test_the_transcript_tells_of_it(payload: Payload, heading: str, text: str) -> None:
    assert _text(payload) == f"\n<!-- event:0 -->\n## {heading}\n\n```text\n{text}\n```\n"


def test_the_history_is_rendered_message_by_message() -> None:
    said = [{"role": "user", "content": "Do you know the sea?"}, {"role": "assistant", "content": "I have read of it."}]
    text = _text(HistoryLoaded(messages=said))
    assert re.findall(r"## (.*)\n\n```text\n(.*)\n", text) == [
        ("user (earlier)", "Do you know the sea?"),
        ("assistant (earlier)", "I have read of it."),
    ]


@pytest.mark.parametrize("kind", ["answer", "approve", "cancel", "a kind of tomorrow"])
def test_of_other_messages_only_the_outcome_is_reported(kind: str) -> None:
    assert _text(InboxReceived(message_id="m", position=1, kind=kind, body={"text": "x"})) == ""


def test_a_run_that_goes_on_with_its_task_says_so_and_does_not_repeat_it() -> None:
    text = _text(RunStarted(task="Do it."), RunStarted(task="Do it."), RunStarted(task="Do that."))
    assert re.findall(r"## (.*)\n\n```text\n(.*)\n", text) == [
        ("user", "Do it."),
        ("system", "resumed"),
        ("user", "Do that."),
    ]


def test_the_first_task_is_reported_even_if_it_is_empty() -> None:
    assert "## user\n" in _text(RunStarted(task=""))


def test_the_ids_name_the_run_above_and_the_one_it_was_forked_from() -> None:
    point = ForkPoint(run_id='odd\n---"', root="/r", seq=7, offset=1, prefix_sha256="0")
    born = RunCreated(
        schema="s", key_id="k", session_id="s", task_id="t", profile_id="p", config_fingerprint="f", parent_run_id="up",
        fork=point,
    )  # fmt: skip
    lines = _text(born).splitlines()
    assert lines[6:9] == ['parent_run_id: "up"', 'forked_from: "odd\\n---\\""', "forked_after_event: 7"]
    assert [at for at, line in enumerate(lines) if line == "---"] == [0, len(lines) - 1]


def test_every_kind_of_event_is_reported_or_left_out_on_purpose() -> None:
    told = {*RENDERERS, *ANSWER, RunStarted}
    assert told.isdisjoint(QUIET)
    assert told | QUIET == set(PAYLOAD_TYPES.values())


PIECES = ["`", "```", "\n", "\n## system\n", "text\n", "---", "<!-- event:1 -->", "\r", "é", "\x1b["]
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@given(said=HOSTILE)
def test_no_message_breaks_out_of_its_code_fence(said: str) -> None:
    payloads = [
        InboxReceived(message_id="m", position=1, kind="steer", body={"text": said}),
        OutputRejected(message="x" + said),
        ContextCompacted(summary=said, kept_messages=0, reason=said, skills_left_out=[said]),
        HistoryLoaded(messages=[{"role": said, "content": said}]),
        HumanRequest(call_id="c", questions=[{"question": said, "choices": [said, {"label": said}]}]),
        ChildRunStarted(call_id="c", child_run_id=said, root="/r", message=said),
    ]
    fence, headings = "", 0
    for line in _text(*payloads).splitlines():
        if fence:
            fence = "" if line == fence else fence
        elif opening := re.fullmatch(r"(`{3,})text", line):
            fence = opening[1]
        else:
            headings += line.startswith("## ")
    assert (fence, headings) == ("", len(payloads))


@pytest.mark.parametrize("choices", [None, 1, "ab", {"a": 1}, [None, 1, {"no": "label"}]])
def test_a_question_of_an_odd_shape_is_reported_all_the_same(choices: object) -> None:
    text = _text(HumanRequest(call_id="c", questions=[{"question": ["odd"], "choices": choices, "context": 1}]))
    assert "['odd']\ncontext: 1" in text
