"""The log as prose: the same events always give the same bytes.

Shows what events show: digests and sizes where contents are hidden, never the contents.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from skills_runtime.events import Event
from skills_runtime.events.payloads import (
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    RunStarted,
    ToolCallRequested,
)
from skills_runtime.projections.conversation import CLOSING
from skills_runtime.projections.transcript_entries import call, entry
from skills_runtime.projections.transcript_versions import LATEST, RULES


class Transcript(msgspec.Struct):
    """Turns each event into the text it adds; remembers only the task, and the answer still coming in."""

    version: int = LATEST
    coming: list[str] = []
    coming_calls: list[str] = []
    task: str | None = None

    def take(self, event: Event) -> str:
        """The text this event adds to the transcript, often none."""
        payload = event.payload
        kind = type(payload)
        follow = _FOLLOWED.get(kind)
        if follow is not None:
            return follow(self, event, payload)
        tell = RULES[self.version].told.get(kind)
        text = tell(event, payload) if tell is not None else ""
        if (self.coming or self.coming_calls) and isinstance(payload, CLOSING):
            return self.answer(event) + text
        return text

    def answer(self, event: Event) -> str:
        """What has come in, which is complete now."""
        text, calls = "".join(self.coming), self.coming_calls
        self.coming, self.coming_calls = [], []
        return (entry(event, "assistant", text) if text else "") + "".join(calls)


def render(events: Iterable[Event], version: int = LATEST) -> Iterator[str]:
    """The transcript of a log, piece by piece, by the rules of a version."""
    transcript = Transcript(version)
    for event in events:
        text = transcript.take(event)
        if text:
            yield text


def _started(transcript: Transcript, event: Event, payload: RunStarted) -> str:
    again, transcript.task = payload.task == transcript.task, payload.task
    rules = RULES[transcript.version]
    return (rules.again if again else rules.told[RunStarted])(event, payload)


def _asked(transcript: Transcript, event: Event, payload: LlmRequestStarted) -> str:
    transcript.coming, transcript.coming_calls = [], []
    return ""


def _delta(transcript: Transcript, event: Event, payload: LlmResponseDelta) -> str:
    if payload.delta_type == "text":
        transcript.coming.append(payload.text)
    return ""


def _called(transcript: Transcript, event: Event, payload: ToolCallRequested) -> str:
    transcript.coming_calls.append(call(event, payload))
    return ""


def _answered(transcript: Transcript, event: Event, payload: LlmResponseFinished) -> str:
    return transcript.answer(event)


_FOLLOWED: Mapping[type, Callable[[Transcript, Event, Any], str]] = {
    RunStarted: _started,
    LlmRequestStarted: _asked,
    LlmResponseDelta: _delta,
    ToolCallRequested: _called,
    LlmResponseFinished: _answered,
}
"""Those whose meaning depends on what came before."""
