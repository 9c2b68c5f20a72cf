"""The agents that work on the runs of a service, one for each way its settings can be."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from weakref import WeakSet

from skills_runtime.agent import Agent
from skills_runtime.agent.options import AgentOptions
from skills_runtime.agent.run_defaults import backend_for, prices_of
from skills_runtime.config import Resolved
from skills_runtime.events import Event
from skills_runtime.ledger import SqliteInbox
from skills_runtime.ports import Backend
from skills_runtime.safety import InboxApprovals
from skills_runtime.tools import builtin_tools

KEPT = 8
Model = Callable[[Resolved], Backend]


class AgentFactory:
    """Makes agents, and uses one again as long as nothing in its settings has changed."""

    def __init__(self, inbox: SqliteInbox, hear: Callable[[Event], None], *, model: Model = backend_for) -> None:
        self._inbox = inbox
        self._hear = hear
        self._model = model
        self._known: OrderedDict[str, tuple[Resolved, Agent]] = OrderedDict()
        self._made: WeakSet[Agent] = WeakSet()
        self._lock = threading.Lock()

    def agent_for(self, resolved: Resolved) -> Agent:
        """The agent for these settings; approvals and questions wait in the inbox, for nobody sits here."""
        name = f"{resolved.workspace_root}\0{resolved.settings.model_dump_json()}"
        with self._lock:
            known = self._known.get(name)
            if known is None or known[0].environment != resolved.environment:
                known = self._known[name] = (resolved, self._new(resolved))
            self._known.move_to_end(name)
            if len(self._known) > KEPT:
                self._known.popitem(last=False)  # it lives on as long as a run needs it
            return known[1]

    def _new(self, resolved: Resolved) -> Agent:
        prices_of(resolved)
        equipment = AgentOptions(
            tools=builtin_tools(),
            backend=self._model(resolved),
            approver=InboxApprovals(),
            inbox=self._inbox,
            hooks=(self._hear,),
        )
        agent = Agent.from_resolved(resolved, equipment)
        self._made.add(agent)
        return agent

    async def close(self) -> None:
        """Close the connections of all models."""
        await asyncio.gather(*(agent.aclose() for agent in tuple(self._made)))
