"""What the loop works with besides the run itself: one frozen value that `run_ports` builds from the settings."""

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
    """Size of the context window, and what to do when it is full."""

    mode: Literal["compact_first", "ask_first", "fail_fast"] = "compact_first"
    window_tokens: int = 128_000
    compact_at: float = 0.8
    max_compactions: int = 0
    keep_last_messages: int = 6
    history_max_chars: int = 24_000
    skills_max_chars: int = 100_000
    """Maximum text of active skills that survives a compaction; the newest skills stay."""
    extra_steps: int = 20
    extra_wall_time_sec: int = 600
    fallback_mode: Literal["compact_first", "fail_fast"] = "compact_first"


class RunScope:
    """Resources that tools keep between calls; closed when work on the run stops."""

    def __init__(self) -> None:
        self._resources: dict[type, Closeable] = {}

    def hold(self, kind: type[ResourceT], make: Callable[[], ResourceT]) -> ResourceT:
        """Return the resource of this type, creating it on first use."""
        if kind not in self._resources:
            self._resources[kind] = make()
        return cast("ResourceT", self._resources[kind])

    async def aclose(self) -> None:
        """Close all resources, newest first."""
        while self._resources:
            _, closing = self._resources.popitem()
            await closing.aclose()


class SkillChanges(Protocol):
    """Reports changes of the skills that the model was offered."""

    def is_due(self) -> bool:
        """Return whether something may have changed; called at every turn."""
        ...

    async def record(self, run: Run) -> None:
        """Record the difference between the current skills and those the model knows from the log."""
        ...


class AgentPorts(msgspec.Struct, frozen=True, kw_only=True):
    """Model, tools, gate, sandbox, people and limits of one run."""

    backend: Backend
    tools: Registry
    files: Callable[[], Files]
    """Returns the files of the run; opened on first use, because most runs touch none."""
    gate: Gate
    sandbox: Sandbox
    secrets: Secrets
    root: Path
    """Working directory of processes."""
    system_prompt: str
    planner_model: str
    """Model for the first turn and for summaries."""
    executor_model: str
    """Model for all other turns."""
    prices: Mapping[str, Price] = {}
    budget: Budget = Budget()
    context: ContextRules = ContextRules()
    output_schema: Mapping[str, Any] | None = None
    review: bool = False
    inbox: Inbox | None = None
    skills_of: SkillsOf | None = None
    """Returns the events for skills that a message mentions."""
    skill_changes: SkillChanges | None = None
    """Reports skills that are added, changed or removed while the run works."""
    human: HumanIO | None = None
    human_timeout_ms: int | None = None
    children: Children | None = None
    control: Control = msgspec.field(default_factory=Control)
    scope: RunScope = msgspec.field(default_factory=RunScope)

    def total_usage(self) -> Usage | None:
        """Return the usage of all runs that share the budget; `None` means that the log of the run is complete."""
        if not isinstance(self.children, UsageTracker):
            return None
        if self.budget.is_shared:
            return self.children.total_usage()
        self.children.catch_up()
        return None

    def record_children(self) -> None:
        """Record the usage of sub-agents before the run ends and cancels them."""
        if isinstance(self.children, UsageTracker):
            self.children.record_children()
