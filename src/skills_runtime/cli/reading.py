"""Reading one run for people: what its log says as far as it can be believed, in one pass."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from skills_runtime.cli.machine import this_ledger
from skills_runtime.cli.render.steps import Steps
from skills_runtime.errors import LogCorrupt, SkillsRuntimeError
from skills_runtime.events import Event, Payload, decode_event
from skills_runtime.events.payloads import HumanRequest
from skills_runtime.projections import Metrics, RunState, RunView
from skills_runtime.projections.skill_notes import skill_note
from skills_runtime.runs import KeyRing, RunPaths, read_events, read_record, read_verified


class Page(msgspec.Struct):
    """Everything a page about a run shows."""

    root: Path
    prompt: str = ""
    unbelieved: bool = False
    """Whether run.json knows of more events than the verified part of the log has."""
    view: RunView = msgspec.field(default_factory=RunView)
    metrics: Metrics = msgspec.field(default_factory=Metrics)
    steps: Steps = msgspec.field(default_factory=Steps)
    asked: dict[str, HumanRequest] = {}
    """The questions, whole, by the call that asked them."""
    skills: list[Payload] = []
    """What became of skills, in the order of the log."""
    messages: int = 0
    """How many messages to the run it has not read yet."""

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        if isinstance(event.payload, HumanRequest):
            self.asked[event.payload.call_id] = event.payload
        if skill_note(event.payload):
            self.skills.append(event.payload)
        self.view.apply(event)
        self.metrics.apply(event)
        self.steps.apply(event)


def read_page(paths: RunPaths, keys: KeyRing) -> Page:
    """The page of a run."""
    page = Page(paths.root)
    for event in believed_events(paths, keys):
        page.apply(event)
    page.prompt = _prompt(paths) or page.view.state.task
    page.messages = _messages(page.view.state) if page.view.state.open else 0
    page.unbelieved = _last_recorded(paths) > page.view.state.last_seq
    return page


def believed_events(paths: RunPaths, keys: KeyRing) -> Iterator[Event]:
    """The verified events of a log; all events of a log from before logs could be verified."""
    first = next(read_events(paths), None)
    sealed = first is not None and first.type == "run_created"
    return read_verified(paths, keys) if sealed else read_events(paths)


def decoded(line: bytes, number: int) -> Event:
    """One line of a log as an event."""
    try:
        return decode_event(line, index=number)
    except msgspec.MsgspecError as error:
        raise LogCorrupt(f"line {number + 1} of the log is not an event") from error


def _messages(state: RunState) -> int:
    try:
        with this_ledger() as ledger:
            waiting = ledger.inbox.pending(state.run_id)
    except SkillsRuntimeError:
        return 0  # a page can be read where the ledger cannot
    return sum(message.position > state.inbox_position for message in waiting)


def _prompt(paths: RunPaths) -> str:
    try:
        return (paths.root / "prompt.md").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _last_recorded(paths: RunPaths) -> int:
    try:
        return read_record(paths.run_json).last_seq
    except (SkillsRuntimeError, OSError):
        return -1
