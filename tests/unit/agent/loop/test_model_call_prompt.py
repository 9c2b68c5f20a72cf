"""From a conversation to a request: what is kept from turn to turn never differs from what would be built anew."""

from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.agent.loop.model_call import Prompt, truncate_middle
from skills_runtime.events import Payload
from skills_runtime.events.payloads import (
    ContextCompacted,
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    RunStarted,
    ToolCallFinished,
    ToolCallRequested,
)
from skills_runtime.projections import Conversation
from tests.support.events import numbered

BLOB = "a" * 64


def _read(digest: str) -> bytes:
    return b'{"exact":"' + digest[:3].encode() + b'"}'


def _turn(number: int) -> list[Payload]:
    call = f"call_{number}"
    return [
        LlmRequestStarted(model="m"),
        LlmResponseDelta(delta_type="text", text=f"turn {number}"),
        ToolCallRequested(call_id=call, tool="t", name="t", arguments={}, arguments_blob=BLOB if number % 2 else None),
        LlmResponseFinished(finish_reason="tool_calls"),
        ToolCallFinished(call_id=call, tool="t", result={"ok": True}, result_blob=None if number % 2 else BLOB),
    ]


STEPS = st.lists(st.integers(min_value=-3, max_value=0) | st.just(1), max_size=12)
"""1 is another turn; the others compact the conversation and keep as many messages."""


@given(steps=STEPS)
def test_a_prompt_used_again_is_the_one_built_anew(steps: list[int]) -> None:
    conversation, prompt = Conversation(), Prompt("system", _read)
    history: list[Payload] = [RunStarted(task="go")]
    for number, step in enumerate(steps):
        history += _turn(number) if step == 1 else [ContextCompacted(summary=f"s{number}", kept_messages=-step)]
    for event in numbered(history):
        conversation.apply(event)
        assert prompt.messages(conversation) == Prompt("system", _read).messages(conversation)


def test_the_exact_bytes_come_from_the_blobs() -> None:
    conversation = Conversation()
    for event in numbered([RunStarted(task="go"), *_turn(1), *_turn(2)]):
        conversation.apply(event)
    messages = Prompt("system", _read).messages(conversation)
    assert messages[2]["tool_calls"][0]["function"]["arguments"] == '{"exact":"aaa"}'
    assert messages[-1]["content"] == '{"exact":"aaa"}'


def test_a_request_handed_out_is_not_changed_by_the_next() -> None:
    conversation, prompt = Conversation(), Prompt("system", _read)
    conversation.apply(numbered([RunStarted(task="go")])[0])
    first = prompt.messages(conversation)
    before = list(first)
    for event in numbered(_turn(1)):
        conversation.apply(event)
    prompt.messages(conversation)
    assert first == before


@given(text=st.text(max_size=300), limit=st.integers(0, 200))
def test_text_that_was_shortened_is_not_shortened_again(text: str, limit: int) -> None:
    short = truncate_middle(text, limit=limit)
    assert len(short) <= max(limit, 40)
    assert limit < 40 or truncate_middle(short, limit=limit) == short
    assert short == text or "characters left out" in short
