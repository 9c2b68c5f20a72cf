"""Sub-agents: child runs with their own directory and log, started by a call of the parent run.

The parent's log names them, so a resumed parent finds them again. Their usage counts for the parent while they work:
all runs below one run share one budget. Sub-agents end with their parent, even if no process is working on them.
"""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from skills_runtime.agent.loop import Control
from skills_runtime.agent.loop.budget import (
    Budget,
    SharedBudget,
    Usage,
    UsageTracker,
    child_budget,
    child_usage,
    own_usage,
)
from skills_runtime.agent.loop.inbox import finish_run_and_inbox
from skills_runtime.agent.options import AgentOptions, ChildProfile, RunRequest
from skills_runtime.agent.result import RunResult, result_status
from skills_runtime.agent.skills.permissions import initial_skills
from skills_runtime.agent.subagents.questions import relay_approval, relay_question, withdraw_requests
from skills_runtime.errors import LogEnded, LogError, LogLocked, SkillsRuntimeError, ToolError
from skills_runtime.events import ChildRunFinished, ChildRunStarted, RunCancelled, RunStatus
from skills_runtime.ports import ChildStatus, Inbox, InboxClosed, Parked
from skills_runtime.projections import RunState, RunView
from skills_runtime.runs import End, Run, RunPaths, read_view, runs_root, use_run
from skills_runtime.tools import Registry

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

MAX_DEPTH = 3
SUBAGENT_TOOLS = frozenset({"spawn_agent", "wait", "send_input", "close_agent", "resume_agent"})
ID_PREFIX_CHARS = 100
"""Length of the parent's id prefix in child ids, which may have at most 128 characters."""


class ChildAgent(Protocol):
    """The agent that works on a child run."""

    def create(self, request: RunRequest) -> Run:
        """Create the directory of a new run."""
        ...

    def resume(self, root: Path) -> Run:
        """Open a run that has not ended."""
        ...

    async def execute(
        self, run: Run, *, control: Control | None = None, shared_budget: SharedBudget | None = None
    ) -> RunResult:
        """Work on an open run until it ends, waits or yields, then close it."""
        ...


class ChildRuns(UsageTracker):
    """The child runs of one run, and the work on them in this process."""

    def __init__(
        self,
        run: Run,
        options: AgentOptions,
        budget: Budget,
        *,
        resolved: "Resolved",
        make_agent: Callable[["Resolved", AgentOptions], ChildAgent],
        shared_budget: SharedBudget | None = None,
    ) -> None:
        self._run = run
        self._options = options
        self._resolved = resolved
        self._make_agent = make_agent
        self._work: dict[str, tuple[asyncio.Task[RunResult], Control]] = {}
        self._budget = options.budget or budget
        self._shared = shared_budget or SharedBudget(run.view)
        # Children that an earlier process started: it may have died before their usage was logged.
        self._uncounted = list(run.state.children)

    def catch_up(self) -> None:
        """Record the usage of children that an earlier process did not record."""
        while self._uncounted:
            self._catch_up(self._uncounted.pop())

    def total_usage(self) -> Usage:
        """Return the usage of all runs that share the budget."""
        self.catch_up()
        return self._shared.total_usage()

    def record_children(self) -> None:
        """Record the usage of running children before the run ends and cancels them."""
        for child_id, shared in self._shared.children.items():
            if (usage := shared.subtree_usage()) != child_usage(self._run.state.children[child_id]):
                self._record(child_id, shared.view.state, usage)

    async def spawn(self, message: str, *, call_id: str, agent_type: str = "") -> ChildStatus:
        """Start a run with this task; a repeated call does not start a second one."""
        if self._options.depth >= MAX_DEPTH:
            raise ToolError(
                "permission",
                f"sub-agents can be nested at most {MAX_DEPTH} levels deep",
                hint="do the task in this run",
            )
        profiles = self._options.profiles or {}
        if profiles and agent_type not in profiles:
            raise ToolError("permission", f"there is no agent profile `{agent_type}`", hint=", ".join(profiles))
        state = self._run.state
        # The id depends only on this call: repeating it after a crash starts no second child.
        prefix = state.run_id[:ID_PREFIX_CHARS]
        full_id = f"{state.run_id}\n" if prefix != state.run_id else ""
        name = f"{full_id}{state.turns}\n{call_id}"
        child_id = f"{prefix}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        root = runs_root(self._resolved.workspace_root) / child_id
        self._run.append(
            ChildRunStarted(
                call_id=call_id, child_run_id=child_id, root=str(root), message=message[:200], profile_id=agent_type
            )
        )
        await self._run.commit_async()
        if not root.exists():
            request = RunRequest(
                prompt=message, run_id=child_id, session_id=state.session_id, parent_run_id=state.run_id
            )
            agent = self._child_agent(agent_type)
            self._start(child_id, agent, agent.create(request))
        elif not self._view(root).state.open:
            # A process that died right after the last event did not finalize the run: opening it does.
            with suppress(LogEnded), use_run(root, self._run.ports):
                pass
        return await self.resume(child_id)

    async def wait(self, ids: Sequence[str], *, timeout_ms: int | None = None) -> Sequence[ChildStatus]:
        """Return the states once all have ended or wait for a user, or the timeout has passed.

        This run relays their questions; it waits for an answer only if no child can work.
        """
        mine = going = list(dict.fromkeys(ids))
        while going:
            for child_id in going:
                await self.resume(child_id)
            tasks = [self._work[child_id][0] for child_id in mine if child_id in self._work]
            if tasks:
                await asyncio.wait(tasks, timeout=timeout_ms / 1000 if timeout_ms is not None else None)
            relayed = {child_id: await self._relay(child_id) for child_id in mine}
            going = [child_id for child_id in mine if any(relayed[child_id])]
            if not going and any(relayed.values()) and not any(self._is_running(child_id) for child_id in mine):
                raise Parked(", ".join(child_id for child_id in mine if relayed[child_id]))
        return [self._status(child_id) for child_id in ids]

    async def send(self, child_id: str, message: str) -> ChildStatus:
        """Send a message that a child receives at its next turn."""
        self._root(child_id)
        if self._options.inbox is None:
            raise ToolError("validation", "this agent has no inbox, so nothing can be sent to its sub-agents")
        self._options.inbox.send(child_id, "steer", {"text": message})
        return self._status(child_id)

    async def resume(self, child_id: str) -> ChildStatus:
        """Continue a child that stopped before its end."""
        status = self._status(child_id)
        if status.status in ("paused", "waiting_human") and not self._is_running(child_id):
            child = self._run.state.children[child_id]
            agent = self._child_agent(child.profile_id)
            self._start(child_id, agent, agent.resume(Path(child.root)))
        return self._status(child_id)

    async def close(self, child_id: str) -> ChildStatus:
        """Cancel a child and return when it has stopped."""
        root = self._root(child_id)
        if self._is_running(child_id):
            task, _ = self._work[child_id]
            task.cancel()
            await asyncio.wait([task])
        else:
            cancel_child(root, self._run, "closed by its parent run", self._options.inbox)
        return self._status(child_id)

    async def aclose(self) -> None:
        """Stop the work on every child: for good if the parent has ended, otherwise until it is resumed."""
        tasks: list[asyncio.Task[RunResult]] = []
        for task, control in self._work.values():
            control.stopping = self._run.state.open
            task.cancel()
            tasks.append(task)
        if tasks:
            await asyncio.wait(tasks)
        if not self._run.state.open:
            cancel_children(self._run, self._options.inbox)

    async def _relay(self, child_id: str) -> list[bool]:
        """Relay the questions of a child and its answers; return for each question whether it was answered."""
        inbox = self._options.inbox
        if inbox is None or self._is_running(child_id):
            return []
        root = self._root(child_id)
        pending = self._view(root).pending
        await withdraw_requests(self._run, root, pending)
        questions = [await relay_question(self._run, root, question, inbox) for question in pending.questions.values()]
        approvals = [
            await relay_approval(self._run, root, approval, inbox) for approval in pending.approvals.open.values()
        ]
        return [*questions, *approvals]

    def _start(self, child_id: str, agent: ChildAgent, run: Run) -> None:
        control, shared = Control(), self._shared.open(child_id, run.view)
        work = agent.execute(run, control=control, shared_budget=shared)
        task = asyncio.create_task(work, name=f"run {child_id}")
        self._work[child_id] = task, control
        task.add_done_callback(lambda _: self._record_stop(child_id, shared))

    def _record_stop(self, child_id: str, shared: SharedBudget) -> None:
        """Record the state of a child when work on it stops, unless the parent has ended."""
        if self._record(child_id, shared.view.state, shared.subtree_usage()):
            self._shared.close(child_id, shared)

    def _catch_up(self, child_id: str) -> None:
        """Record usage of a child that was not recorded; if its log is unreadable, keep the recorded usage."""
        child = self._run.state.children[child_id]
        root = Path(child.root)
        if RunStatus(child.status).terminal or child_id in self._shared.children or not root.exists():
            return
        with suppress(LogError):
            usage = self._read_usage(root)
            if usage != child_usage(child):
                self._record(child_id, self._view(root).state, usage)

    def _record(self, child_id: str, state: RunState, usage: Usage) -> bool:
        if not self._run.state.open or self._run.log.ended:
            return False
        self._run.append(
            ChildRunFinished(
                child_run_id=child_id,
                status=state.status.value,
                input_tokens=state.input_tokens,
                output_tokens=usage.tokens - state.input_tokens,
                cost_usd=None if state.total_cost_usd is None and usage.tokens else usage.cost_usd,
                tool_calls=usage.tool_calls,
            )
        )
        return True

    def _child_agent(self, profile: str) -> ChildAgent:
        options = child_options(self._options, self._run, self._budget, profile=profile)
        # Deliverables, output schema and review belong to the whole task, not to a sub-agent's part.
        settings = self._resolved.settings
        part: dict[str, Any] = {
            "run": settings.run.model_copy(update={"review": "none", "output_schema": None}),
            "deliverables": settings.deliverables.model_copy(update={"required": ()}),
        }
        return self._make_agent(replace(self._resolved, settings=settings.model_copy(update=part)), options)

    def _is_running(self, child_id: str) -> bool:
        return child_id in self._work and not self._work[child_id][0].done()

    def _root(self, child_id: str) -> Path:
        child = self._run.state.children.get(child_id)
        if child is None:
            raise ToolError("not_found", f"this run has not started an agent `{child_id}`")
        return Path(child.root)

    def _status(self, child_id: str) -> ChildStatus:
        root = self._root(child_id)
        if self._is_running(child_id):
            return ChildStatus(id=child_id, status="running")
        if not root.exists():
            return ChildStatus(id=child_id, status="paused")
        state = self._view(root).state
        return ChildStatus(
            id=child_id,
            status=result_status(state.status),
            final_output=state.final_output or state.failure_reason or state.waiting_message,
            error_kind=state.error_kind,
            profile_id=self._run.state.children[child_id].profile_id,
        )

    def _view(self, root: Path) -> RunView:
        return read_view(RunPaths(root), self._run.ports)

    def _read_usage(self, root: Path) -> Usage:
        """Return the usage of a run and its descendants from their own logs."""
        view = self._view(root)
        total = own_usage(view)
        for child in view.state.children.values():
            path = Path(child.root)
            total += self._read_usage(path) if path.exists() else child_usage(child)
        return total


def child_options(options: AgentOptions, run: Run, budget: Budget, *, profile: str) -> AgentOptions:
    """Return the options of a child run: never more than its parent has."""
    chosen = (options.profiles or {}).get(profile) or ChildProfile()
    depth = options.depth + 1
    names = {tool.spec.name for tool in options.tools} - (SUBAGENT_TOOLS if depth >= MAX_DEPTH else frozenset())
    allowed_tools, library = options.allowed_tools, options.library
    if chosen.tools is not None:
        names &= chosen.tools
        allowed_tools = chosen.tools if allowed_tools is None else allowed_tools & chosen.tools
    child_limits = child_budget(run.view, budget)
    if chosen.max_steps is not None:
        child_limits = msgspec.structs.replace(child_limits, max_steps=min(child_limits.max_steps, chosen.max_steps))
    # The parent's own record wins; without one, use what the grandparent recorded.
    initial = initial_skills(run) if library is not None else None
    return msgspec.structs.replace(
        options,
        tools=Registry(*(tool for tool in options.tools if tool.spec.name in names)),
        allowed_tools=allowed_tools,
        budget=child_limits,
        depth=depth,
        hooks=(),
        library=library.only(chosen.skills) if library is not None and chosen.skills is not None else library,
        initial_skills=initial if initial is not None else options.initial_skills,
    )


def finish_tree(run: Run, inbox: Inbox | None, end: Callable[[], End]) -> None:
    """End a run that no loop is working on, children first: after a crash in between it can be repeated."""
    cancel_children(run, inbox)
    finish_run_and_inbox(run, inbox, end)


def cancel_children(run: Run, inbox: Inbox | None) -> None:
    """Cancel all open sub-agents of a run; one with an unusable log does not stop the others."""
    for child in run.state.children.values():
        root = Path(child.root)
        if RunStatus(child.status).terminal or not root.exists():
            continue
        with suppress(SkillsRuntimeError, OSError):
            cancel_child(root, run, "its parent run has ended", inbox)


def cancel_child(root: Path, parent: Run, reason: str, inbox: Inbox | None) -> None:
    """Cancel a sub-agent and its descendants; if another process works on it, send that process a cancel message."""
    if read_view(RunPaths(root), parent.ports).state.parent_run_id != parent.state.run_id:
        return  # a different run: the child id came from a foreign log
    try:
        with use_run(root, parent.ports) as child:
            cancelled = RunCancelled(message=reason, wal_locator=str(child.paths.events))
            finish_tree(child, inbox, lambda: cancelled)
    except LogLocked:
        if inbox is not None:
            with suppress(InboxClosed):  # it is just ending by itself
                inbox.send(root.name, "cancel", {"reason": reason}, idempotency_key="ended-from-above")
    except LogEnded:
        return
