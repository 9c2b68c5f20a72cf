"""The agents that execute runs: one per distinct settings, reused while the settings stay the same."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from weakref import WeakSet

import msgspec

from skills_runtime.agent import Agent, AgentOptions, backend_for, prices_of
from skills_runtime.config import Resolved
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.events import Event
from skills_runtime.ports import Approver, Backend, HumanIO, Inbox
from skills_runtime.safety import InboxApprovals
from skills_runtime.tools import builtin_tools

MAX_CACHED_AGENTS = 8
Model = Callable[[Resolved], Backend]


class Interaction(msgspec.Struct, frozen=True, kw_only=True):
    """How runs interact with users while they are executed."""

    approver: Approver | None = msgspec.field(default_factory=InboxApprovals)
    """Decides on calls; by default decisions arrive later through the inbox."""
    human: HumanIO | None = None
    """Answers questions; `None` means that they wait in the inbox."""
    hooks: tuple[Callable[[Event], None], ...] = ()
    """Called with each event of each run, in the thread in which it is recorded."""
    remembered: dict[str, str] = {}
    """Approvals that last as long as this process, with the approver."""
    depth: int = 0
    """The nesting depth of these runs below their top run."""


class AgentFactory:
    """Builds the agents for settings; thread-safe."""

    def __init__(self, inbox: Inbox, interaction: Interaction | None = None, *, model: Model = backend_for) -> None:
        self._inbox = inbox
        self._interaction = interaction or Interaction()
        self._model = model
        self._cached: OrderedDict[str, tuple[Resolved, Agent]] = OrderedDict()
        self._built: WeakSet[Agent] = WeakSet()
        self._lock = threading.Lock()

    def get_agent(self, resolved: Resolved) -> Agent:
        """Return the agent for these settings; invalid settings are refused."""
        key = f"{resolved.workspace_root}\0{resolved.settings.model_dump_json()}"
        with self._lock:
            cached = self._cached.get(key)
            if cached is None or cached[0].environment != resolved.environment:
                cached = self._cached[key] = (resolved, self._build(resolved))
            self._cached.move_to_end(key)
            if len(self._cached) > MAX_CACHED_AGENTS:
                self._cached.popitem(last=False)  # it lives on as long as a run needs it
            return cached[1]

    def _build(self, resolved: Resolved) -> Agent:
        backend = self._model(resolved)
        prices_of(resolved, backend)
        interaction = self._interaction
        options = AgentOptions(
            tools=builtin_tools(),
            backend=backend,
            approver=interaction.approver,
            human=interaction.human,
            remembered=interaction.remembered,
            inbox=self._inbox,
            hooks=interaction.hooks,
            depth=interaction.depth,
        )
        agent = Agent.from_resolved(resolved, options)
        self._built.add(agent)
        return agent

    async def close(self) -> None:
        """Close the connections of all models."""
        await asyncio.gather(*(agent.aclose() for agent in tuple(self._built)))


def find_model_problem(resolved: Resolved) -> str:
    """Return why no run could use the model, or an empty text; the user is not asked anything."""
    try:
        backend_for(resolved)
    except SkillsRuntimeError as error:
        return f"{error.message}; {error.hint}" if error.hint else error.message
    return ""
