"""What the loop needs besides the run itself, as one frozen value."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

import msgspec

from skills_runtime.agent.budget import Budget, Usage, UsageTracker
from skills_runtime.agent.loop.context_window import ContextRules
from skills_runtime.agent.loop.control import Control
from skills_runtime.agent.loop.inbox import SkillsOf
from skills_runtime.llm import Price
from skills_runtime.ports import Backend, Children, Closing, Files, HumanIO, Inbox, Sandbox, Secrets
from skills_runtime.ports.tools import Held
from skills_runtime.runs import Run
from skills_runtime.safety import Gate
from skills_runtime.tools import Registry


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


class SkillChanges(Protocol):
    """Records what changed about the skills of a run since its model was told of them."""

    def is_due(self) -> bool:
        """Say whether something may have changed; asked at every turn."""
        ...

    async def record(self, run: Run) -> None:
        """Record what is different from what the log says the model knows."""
        ...


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
    skill_changes: SkillChanges | None = None
    """Tells the model of skills that come, change and go while the run is at work."""
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
