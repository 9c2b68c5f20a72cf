"""Two logs compared without what differs between any two runs: ids, times, seals, and where they were made."""

from collections.abc import Iterable
from typing import Any, cast

import msgspec

from skills_runtime.events import Event
from skills_runtime.events.payloads import RunStarted

CHANCE = frozenset(
    {"duration_ms", "key_id", "message_id", "sent_at", "session_id", "task_id", "wal_locator", "workspace_root"}
)
"""Fields that hold an id, a time or a place."""
DIGESTS = frozenset({"config_fingerprint", "snapshots", "manifest"})
"""Fields that hold digests of files with ids, times or places in them."""


def resumes_in(events: Iterable[Event]) -> int:
    """How often somebody went on with the run: each time leaves one `run_started` that says so."""
    return sum(map(_is_resume, events))


def story_of(events: Iterable[Event]) -> list[str]:
    """The log as lines that are the same for two runs which did the same.

    A `run_started` that only says that somebody went on is left out: that is the one trace a stop may leave. What is
    not compared besides are `seq` (those events count too), `epoch` (one for each opening) and `mac` (over all this).
    """
    return [_line(event) for event in events if not _is_resume(event)]


def _is_resume(event: Event) -> bool:
    return isinstance(event.payload, RunStarted) and bool(event.payload.resume.get("enabled"))


def _line(event: Event) -> str:
    payload = _lasting(msgspec.to_builtins(event.payload))
    said = {"type": event.type, "turn": event.turn_id, "step": event.step_id, "payload": payload}
    return msgspec.json.encode(said, order="sorted").decode()


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {name: _lasting(one) for name, one in fields.items() if name not in CHANCE | DIGESTS}
    if isinstance(value, list):
        return [_lasting(one) for one in cast("list[Any]", value)]
    return value
