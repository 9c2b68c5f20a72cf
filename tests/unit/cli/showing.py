"""Events of a run that never was, and what a person sees of them."""

import io
from pathlib import Path
from typing import Any

from rich.console import Console

from skills_runtime.cli.run_view import Heading, HumanView, RunOutcome
from skills_runtime.errors import StorageFailed
from skills_runtime.events import Event, Payload
from skills_runtime.events.payloads import ToolCallFinished, ToolCallRequested
from skills_runtime.events.states import RunStatus
from skills_runtime.projections import RunState
from skills_runtime.testing import FrozenClock


def events(*payloads: Payload) -> list[Event]:
    return [
        Event(seq, payload.event_type, "2026-01-01T00:00:00Z", "run_1", payload) for seq, payload in enumerate(payloads)
    ]


def asked(call_id: str = "c", **arguments: Any) -> ToolCallRequested:
    return ToolCallRequested(call_id=call_id, tool="shell", name="shell", arguments=arguments)


def finished(call_id: str = "c", **result: Any) -> ToolCallFinished:
    return ToolCallFinished(call_id=call_id, tool="shell", result=result)


def ending(status: RunStatus, *, trouble: StorageFailed | None = None, **state: Any) -> RunOutcome:
    return RunOutcome(Path("/runs/r"), RunState(run_id="r", status=status, **state), trouble)


def shown(*payloads: Payload, end: RunOutcome, width: int | None = None, with_answer: bool = True) -> str:
    """What a person sees of a run, on a terminal of this width or in a file."""
    file = io.StringIO()
    console = Console(file=file, width=width or 10_000, force_terminal=width is not None, color_system=None)
    heading = Heading("A task", "model", "shared")
    view = HumanView(console, heading, program="kgent", clock=FrozenClock(), shows_answer=with_answer)
    view.start(Path("/runs/r"), "r")
    for event in events(*payloads):
        view.show_event(event)
    view.finish(end)
    return file.getvalue()
