"""What the loop works with besides the run itself, as one frozen value that `run_ports` builds from the settings."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import msgspec

from skills_runtime.agent.loop.budget import Budget, Usage, UsageTracker
from skills_runtime.agent.loop.control import Control
from skills_runtime.events import Payload
from skills_runtime.llm import Price
from skills_runtime.ports import (
    Backend,
    Children,
    Closeable,
    Files,
    HumanIO,
    Inbox,
    InboxMessage,
    ResourceT,
    Sandbox,
    Secrets,
)
from skills_runtime.runs import Run
from skills_runtime.safety import Gate
from skills_runtime.tools import Registry

SkillsOf = Callable[[InboxMessage], Iterable[Payload]]
"""Returns the events for the skills that a message mentions."""


class ContextRules(msgspec.Struct, frozen=True, kw_only=True):
    """How much fits the model, and what happens when it is full."""

    mode: Literal["compact_first", "ask_first", "fail_fast"] = "compact_first"
    window_tokens: int = 128_000
    compact_at: float = 0.8
    max_compactions: int = 0
    keep_last_messages: int = 6
    history_max_chars: int = 24_000
    skills_max_chars: int = 100_000
    """How much text of active skills stays when the rest is summed up; the newest stay."""
    extra_steps: int = 20
    extra_wall_time_sec: int = 600
    fallback_mode: Literal["compact_first", "fail_fast"] = "compact_first"


class RunScope:
    """What tools hold on to from one call to the next; closed when work on the run stops."""

    def __init__(self) -> None:
        self._resources: dict[type, Closeable] = {}

    def hold(self, kind: type[ResourceT], make: Callable[[], ResourceT]) -> ResourceT:
        """The one thing of this kind, made when it is first asked for."""
        if kind not in self._resources:
            self._resources[kind] = make()
        return cast("ResourceT", self._resources[kind])

    async def aclose(self) -> None:
        """Let go of everything, the newest first."""
        while self._resources:
            _, closing = self._resources.popitem()
            await closing.aclose()


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

    def total_usage(self) -> Usage | None:
        """What all that share the budget have used by now; nothing means that the log of the run tells it all."""
        if not isinstance(self.children, UsageTracker):
            return None
        if self.budget.is_shared:
            return self.children.total_usage()
        self.children.catch_up()
        return None

    def record_children(self) -> None:
        """Record what sub-agents have used, before the run ends and takes them down with it."""
        if isinstance(self.children, UsageTracker):
            self.children.record_children()
