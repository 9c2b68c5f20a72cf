"""What the loop needs besides the run itself, as one frozen value."""

import asyncio
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import msgspec

from skills_runtime.agent.budget import Budget, Usage, UsageTracker
from skills_runtime.agent.receiving import SkillsOf
from skills_runtime.agent.skills.news import SkillNews
from skills_runtime.agent.window import ContextRules
from skills_runtime.llm import Price
from skills_runtime.ports import Backend, Children, Closing, Files, HumanIO, Inbox, Sandbox, Secrets
from skills_runtime.ports.tools import Held
from skills_runtime.safety import Gate
from skills_runtime.tools import Registry


class Control:
    """How somebody outside stops the work on a run without ending the run."""

    def __init__(self) -> None:
        self.stopping = False
        """Whether a cancellation only stops the work: the run waits and can be resumed."""
        self.yielding = False
        """Whether the work stops at the next boundary, without a trace."""
        self.broken = ""
        """What went wrong with who says whether to stop, if the work is cancelled for that."""
        self.time: asyncio.Timeout | None = None
        """The clock of this segment."""
        self._waits = 0
        self._left: float | None = None
        """The time that was left when the clock was stopped."""

    @contextmanager
    def waiting(self) -> Generator[None]:
        """Stop the clock while somebody is waited for; several may be waited for at the same time."""
        self._waits += 1
        when = self.time.when() if self.time is not None and not self.time.expired() else None
        if self.time is not None and when is not None:
            self._left = when - asyncio.get_running_loop().time()
            self.time.reschedule(None)
        try:
            yield
        finally:
            self._waits -= 1
            if not self._waits and self.time is not None and self._left is not None:
                self.time.reschedule(asyncio.get_running_loop().time() + self._left)
                self._left = None

    def extend(self, seconds: float) -> None:
        """Give the segment more time, if its time is limited at all."""
        when = self.time.when() if self.time is not None else None
        if self._left is not None:
            self._left += seconds
        elif self.time is not None and when is not None:
            self.time.reschedule(when + seconds)


class RunScope:
    """What tools hold on to from one call to the next; closed when work on the run stops."""

    def __init__(self) -> None:
        self._held: dict[type, Closing] = {}

    def hold(self, kind: type[Held], make: Callable[[], Held]) -> Held:
        """The one thing of this kind, made when it is first asked for."""
        if kind not in self._held:
            self._held[kind] = make()
        return cast("Held", self._held[kind])

    async def aclose(self) -> None:
        """Let go of everything, the newest first."""
        while self._held:
            _, thing = self._held.popitem()
            await thing.aclose()


class AgentPorts(msgspec.Struct, frozen=True, kw_only=True):
    """The model, the tools, the gate, the fence, the people and the limits of one run."""

    backend: Backend
    tools: Registry
    files: Callable[[], Files]
    """The files of the run; most runs touch none, so they are looked at when a call does."""
    gate: Gate
    sandbox: Sandbox
    secrets: Secrets
    root: Path
    """Where processes start."""
    system_prompt: str
    planner_model: str
    """Answers the first turn, and sums up."""
    executor_model: str
    """Answers the rest."""
    prices: Mapping[str, Price] = {}
    budget: Budget = Budget()
    context: ContextRules = ContextRules()
    output_schema: Mapping[str, Any] | None = None
    review: bool = False
    inbox: Inbox | None = None
    skills_of: SkillsOf | None = None
    """What becomes of the skills that a message mentions."""
    news: SkillNews | None = None
    """What becomes of skills while the run is at work."""
    human: HumanIO | None = None
    human_timeout_ms: int | None = None
    children: Children | None = None
    control: Control = msgspec.field(default_factory=Control)
    scope: RunScope = msgspec.field(default_factory=RunScope)

    def used(self) -> Usage | None:
        """What all that share the budget have used by now; nothing means that the log of the run tells it all."""
        if not isinstance(self.children, UsageTracker):
            return None
        if self.budget.is_shared:
            return self.children.used()
        self.children.catch_up()
        return None

    def record_children(self) -> None:
        """Record what sub-agents have used, before the run ends and takes them down with it."""
        if isinstance(self.children, UsageTracker):
            self.children.record_children()
