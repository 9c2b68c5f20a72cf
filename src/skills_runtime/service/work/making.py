"""From an order to a run that can be worked on; everything here may wait for the disk, so it is done in a thread."""

import msgspec

from skills_runtime.agent import Agent
from skills_runtime.agent import RunRequest as AgentRequest
from skills_runtime.config import Resolved
from skills_runtime.config.merge import deep_merge
from skills_runtime.engine.agent_factory import AgentFactory
from skills_runtime.engine.run_requests import (
    RunOverrides,
    RunRequest,
    add_skill_mentions,
    check_overrides,
    source_settings,
)
from skills_runtime.engine.sessions import with_session
from skills_runtime.engine.workspace import Workspace
from skills_runtime.errors import IllegalTransition
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import RunIndex
from skills_runtime.projections import RunView
from skills_runtime.runs import LogPorts, Run, RunPaths, fork_point, read_view


class Opened(msgspec.Struct, frozen=True):
    """A run, open, and who works on it."""

    run: Run
    agent: Agent


class Maker:
    """Makes runs, and opens those that go on."""

    def __init__(self, home: Workspace, index: RunIndex, ports: LogPorts, agents: AgentFactory) -> None:
        self._home = home
        self._index = index
        self._ports = ports
        self._agents = agents

    def make(self, order: RunRequest, run_id: str) -> Opened:
        """A new run."""
        request = AgentRequest(prompt=order.prompt, session_id=order.session_id, task_id=order.task_id, run_id=run_id)
        if order.fork_of is None:
            resolved = self._home.settings(self._wanted(order, self._home.settings()))
        else:
            resolved, request = self._forked(order, request)
        if order.skills:
            request = msgspec.structs.replace(
                request, prompt=add_skill_mentions(request.prompt, order.skills, resolved)
            )
        request, _ = with_session(request, self._index, resolved.settings.prompt, self._ports)
        agent = self._agents.agent_for(resolved)
        return Opened(agent.create(request), agent)

    def open(self, paths: RunPaths, wishes: RunOverrides | None = None) -> Opened:
        """A run that has not ended, to go on with it."""
        view = read_view(paths, self._ports)
        if view.state.status is RunStatus.REVIEW_REQUIRED:
            raise IllegalTransition(
                f"the result of `{view.state.run_id}` waits for review",
                hint="accept it, or send it back, by `…/review`",
            )
        return self._opened(paths, view, wishes or RunOverrides())

    def _opened(self, paths: RunPaths, view: RunView, wishes: RunOverrides) -> Opened:
        check_overrides(wishes, self._home.settings().settings)
        agent = self._agents.agent_for(self._home.settings_of(paths, view.state, wishes.settings()))
        return Opened(agent.resume(paths.root), agent)

    def _wanted(self, order: RunRequest, allowed: Resolved) -> dict[str, object]:
        check_overrides(order.wishes, allowed.settings)
        wished = deep_merge(order.wishes.settings(), source_settings(order.skill_sources, allowed.settings.skills))
        return deep_merge(wished, order.settings)

    def _forked(self, order: RunRequest, request: AgentRequest) -> tuple[Resolved, AgentRequest]:
        parent = self._home.find(order.fork_of or "", self._index)
        state = read_view(parent, self._ports).state
        wanted = self._wanted(order, self._home.settings())
        request = msgspec.structs.replace(
            request,
            prompt=order.prompt or (parent.root / "prompt.md").read_bytes().decode(),
            session_id=state.session_id,
            task_id=state.task_id,
            fork=fork_point(parent.root, state.last_seq if order.fork_at is None else order.fork_at, self._ports),
        )
        return self._home.settings_of(parent, state, wanted), request
