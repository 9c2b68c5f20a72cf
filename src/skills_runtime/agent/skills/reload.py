"""Skills that come, change and go while a run is at work: the run notes it, and the model is told what is different.

What the model knows is in the log, so a run that is resumed days later is told what changed since then, once.
"""

import asyncio
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.agent.loop.calls import ACTIVATE
from skills_runtime.agent.loop.ports import SkillChanges
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.events.payloads import SkillCatalogOffered
from skills_runtime.runs import Run

if TYPE_CHECKING:
    from skills_runtime.skills import Library

PAUSE_SECONDS = 0.25
"""How long nothing is looked at after somebody has looked."""
SHARE = 20
"""Looking takes at most this part of the time."""
SECONDS_EACH = 5e-6
"""How long looking at one skill takes, about."""
MAX_NAMED = 100
"""How many skills of a kind the event names."""
HOW = f"(`{ACTIVATE}` takes the names of new skills too, although its list does not have them.)"


class SkillReloader(SkillChanges):
    """What is new about the skills of one run."""

    def __init__(self, library: "Library", run: Run) -> None:
        self._library = library
        self._clock = run.ports.clock
        self._next = self._clock.monotonic() + max(PAUSE_SECONDS, SHARE * SECONDS_EACH * len(library.list()))
        self._compared: object = None
        """The list of skills that the model was told of, or that says nothing else."""

    def is_due(self) -> bool:
        """Whether something may be new; asked at every turn, so it costs nothing."""
        return self._clock.monotonic() >= self._next or self._library.list() is not self._compared

    async def record(self, run: Run) -> None:
        """Record what is different from what the log says was told."""
        told = run.view.conversation.told_skills
        began = self._clock.monotonic()
        if began >= self._next:
            if told:
                await asyncio.to_thread(self._library.look_again)
            ended = self._clock.monotonic()
            self._next = ended + max(PAUSE_SECONDS, SHARE * (ended - began))
        if self._library.list() is self._compared:
            return
        event = self._news(run, told) if told else None
        self._compared = self._library.list()
        if event is not None:
            run.append(event)

    def _news(self, run: Run, told: str) -> SkillCatalogOffered | None:
        from skills_runtime.skills.catalog.delta import delta_since, marks_in, unpacked
        from skills_runtime.skills.catalog.entries import entries_of, tokens_of

        marks = marks_in(self._library)
        if marks.digest == told:
            return None
        try:
            known = unpacked(run.blobs.get(told))
        except (SkillsRuntimeError, msgspec.MsgspecError):  # a run that came here without its blobs
            return None
        delta = delta_since(known, entries_of(marks.skills))
        if not delta:
            return None
        text = "\n".join((delta.text(), *((HOW,) if delta.came else ())))
        return SkillCatalogOffered(
            level="full",
            offered=len(marks.skills),
            tokens=tokens_of(text),
            reason="skills changed while the run was at work",
            added=[entry.mention for entry in delta.came[:MAX_NAMED]],
            changed=[entry.mention for entry in delta.changed[:MAX_NAMED]],
            removed=list(delta.gone[:MAX_NAMED]),
            text=text,
            skills_blob=run.keep(marks.data),
        )
