"""Replaying a run: the same loop, with the answers of the model and the results of the tools it recorded.

Nothing is executed and nothing is asked: what differs is what today's code would do differently.
"""

import tempfile
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.agent.assembly.ports import log_ports
from skills_runtime.agent.assembly.recorded import recording_of, replaying
from skills_runtime.agent.assembly.spec import spec_for, text_in
from skills_runtime.agent.assembly.standing import budget_of
from skills_runtime.agent.equipment import Equipment, RunRequest
from skills_runtime.agent.facade import Agent
from skills_runtime.engine.replay.ends import was_ended_from_outside
from skills_runtime.engine.replay.limits import with_what_was_given
from skills_runtime.engine.replay.people import RecordedApprover, RecordedInbox, RecordedPerson
from skills_runtime.engine.replay.tools import recorded_tools
from skills_runtime.events import Payload
from skills_runtime.events.payloads import HistoryLoaded, ImagesAttached, RunStarted, SkillInjected
from skills_runtime.projections import Conversation, Moves, fold
from skills_runtime.runs import Run, RunPaths, blobs_of, create_run, read_events, whole_history
from skills_runtime.runs.fork import fork_of, history_before

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

BEGINNINGS = (HistoryLoaded, ImagesAttached, SkillInjected)
"""What a run is given before its model is asked."""


class Divergence(msgspec.Struct, frozen=True):
    """The first move that is not the recorded one; nothing where one side had already ended."""

    number: int
    recorded: str | None
    replayed: str | None


async def replay(root: Path, resolved: "Resolved") -> Divergence | None:
    """Run the recording again and compare the moves; a fork goes on from where it was forked, as it did then."""
    paths = RunPaths(root.resolve())
    if not any(isinstance(event.payload, RunStarted) for event in read_events(paths)):
        return None  # it ended, or waits, before anybody worked on it
    recorded = fold(whole_history(paths), Moves())
    if was_ended_from_outside(whole_history(paths)):
        recorded.end = ""
    inbox = RecordedInbox(history_before(paths), read_events(paths))
    allowed = with_what_was_given(budget_of(resolved), read_events(paths), settled=recorded.conversation.settled)
    equipment = Equipment(
        backend=replaying(paths.root, recording_of(paths.root)),
        tools=recorded_tools(paths, recorded.conversation),
        inbox=inbox,
        skills_of=inbox.skills_of,
        human=RecordedPerson(read_events(paths)),
        budget=allowed,
        approver=RecordedApprover(whole_history(paths)),
    )
    agent = Agent.from_resolved(resolved, equipment)
    with tempfile.TemporaryDirectory(prefix="skills-runtime-replay-") as aside:
        request = RunRequest(prompt=_first_task(paths), sandbox_path=Path(aside) / "run", fork=fork_of(paths))
        run = _begun_like(paths, resolved, request)
        inbox.watch(run.view.conversation)
        await agent.execute(run)
        replayed = fold(whole_history(run.paths), Moves())
    return first_divergence(recorded, replayed)


def _begun_like(paths: RunPaths, resolved: "Resolved", request: RunRequest) -> Run:
    """A new run that starts from what the recorded one started from, whatever has become of it since."""
    archived = paths.root / "effective-system-prompt.md"
    system = text_in(archived) if archived.is_file() else None
    blobs = blobs_of(paths)
    given = [event.payload for event in read_events(paths) if isinstance(event.payload, (*BEGINNINGS, RunStarted))]
    begun = next((number for number, payload in enumerate(given) if isinstance(payload, RunStarted)), len(given))
    later = (payload for payload in given[begun:] if not isinstance(payload, RunStarted | SkillInjected))
    contents = tuple(blobs.get(digest) for payload in given for digest in _blobs_of(payload))
    beginning = (*given[:begun], *later)
    spec = spec_for(resolved, request, system_prompt=system, beginning=beginning, blobs=contents)
    return create_run(msgspec.structs.replace(spec, link=None), log_ports())  # the workspace never hears of it


def _blobs_of(payload: Payload) -> list[str]:
    match payload:
        case SkillInjected(text_blob=str(digest)):
            return [digest]
        case ImagesAttached(images=images):
            return [one["blob"] for one in images if "blob" in one]
        case _:
            return []


def _first_task(paths: RunPaths) -> str:
    """The task that the run answered first: in old logs it may have replaced one that nobody had answered yet."""
    talk = Conversation()
    for event in read_events(paths):
        talk.apply(event)
        if talk.answers:
            break
    return talk.task


def first_divergence(recorded: Moves, replayed: Moves) -> Divergence | None:
    """Where two runs part; a recording that was interrupted is compared as far as it goes."""
    ended = bool(recorded.end)
    for number, (one, other) in enumerate(zip_longest(recorded.all(), replayed.all()), start=1):
        if one is None and not ended:
            return None
        if one is None or not one.is_like(other):
            return Divergence(number, str(one) if one else None, str(other) if other else None)
    return None
