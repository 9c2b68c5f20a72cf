"""Events without a log, for projections, and the order of messages that providers insist on."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skills_runtime.events import Event, Payload


def numbered(payloads: Iterable[Payload], *, step_ids: Mapping[int, str] | None = None) -> list[Event]:
    """The payloads as events of one run, a second apart; `step_ids` gives some of them a step."""
    return [
        Event(
            seq=seq,
            type=payload.event_type,
            timestamp=f"2026-01-01T00:{seq // 60:02d}:{seq % 60:02d}Z",
            run_id="run_test",
            payload=payload,
            turn_id="turn_1",
            step_id=(step_ids or {}).get(seq),
            epoch=1,
            mac=f"{seq:032x}",
        )
        for seq, payload in enumerate(payloads)
    ]


def order_problem(messages: Sequence[Mapping[str, Any]]) -> str:
    """What a provider would object to: a result without its call, or a call without its result; else nothing."""
    waiting: list[str] = []
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return f"message {number} answers a call that is not open"
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return f"message {number} comes before the results of {waiting}"
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        if len(waiting) != len(set(waiting)):
            return f"message {number} uses an id twice"
    return f"nothing answers {waiting}" if waiting else ""
