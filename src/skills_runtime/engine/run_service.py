"""The application layer over runs, shared by the CLI, the HTTP service and the workspace server.

`RunService` creates, resumes, cancels and lists runs, sends messages to them and finds their open requests. A
`Dispatcher` executes runs by id; their outcome is read from the log. It knows nothing of HTTP, terminals or exit codes.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from skills_runtime.agent import Agent, backend_for
from skills_runtime.agent import RunRequest as AgentRequest
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.config import Resolved, deep_merge
from skills_runtime.engine.agent_factory import AgentFactory, Interaction, Model
from skills_runtime.engine.approvals import (
    PERSISTENT_SCOPES,
    ApprovalAnswer,
    OpenApproval,
    build_rule,
)
from skills_runtime.engine.dispatcher import DEFAULT_SLOTS, Dispatcher, InlineDispatcher, KeyedLocks, OpenedRun
from skills_runtime.engine.json_store import IdempotencyKeys, JsonStore, KeyedRun
from skills_runtime.engine.recovery import should_continue, should_resume
from skills_runtime.engine.replay import Divergence, replay
from skills_runtime.engine.run_control import RunControl
from skills_runtime.engine.run_deletion import (
    ENDED,
    DeletedRuns,
    ForkIndex,
    delete_directories,
    list_family,
    list_rows,
    remove_leftovers,
    select_prunable,
)
from skills_runtime.engine.run_index import is_subagent_run, read_verified_row
from skills_runtime.engine.run_reader import RunReader
from skills_runtime.engine.run_requests import (
    RESERVED_RUN_IDS,
    RunOverrides,
    RunRequest,
    add_skill_mentions,
    build_source_settings,
    check_overrides,
)
from skills_runtime.engine.sessions import add_session_history
from skills_runtime.engine.workspace import Workspace
from skills_runtime.errors import (
    ApprovalStale,
    Busy,
    IllegalTransition,
    LogEnded,
    LogLocked,
    NotFound,
    RunExists,
    SkillsRuntimeError,
    ValidationFailed,
)
from skills_runtime.events import RunStatus
from skills_runtime.ledger import Ledger, RunRow, is_gone, open_ledger
from skills_runtime.ports import InboxMessage
from skills_runtime.projections import RunState, fold
from skills_runtime.runs import (
    RunPaths,
    catch_up,
    check_id,
    follow_lines,
    fork_point,
    is_legal_id,
    read_events,
    read_prompt,
    read_view,
    runs_root,
)
from skills_runtime.safety.policy import add_rule

if TYPE_CHECKING:
    from skills_runtime.engine.executions import ExecutionOptions, Executions
    from skills_runtime.engine.skill_operations import SkillOperations

CANCEL_SECONDS = 10.0
"""How long a cancelled run may take to end before the caller gets a reply."""
RETRY_LOCKED_SECONDS = 0.5
"""How soon a run that another process had locked is tried again."""
MAX_SILENT_SECONDS = 1.0
"""How long a cancelled run may be silent before its process is checked."""
REPLAY_SETTINGS: Mapping[str, Any] = {
    "sandbox": {"workspace": "isolated"},
    "safety": {"mode": "allow"},
    "deliverables": {"required": []},
}
"""A replay touches no workspace, asks no user and delivers nothing: its tools only repeat results."""
T = TypeVar("T")


class ServiceLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many runs a service accepts."""

    slots: int = DEFAULT_SLOTS
    """Runs executed at once."""
    max_open: int = 256
    """Runs in progress or waiting for a slot; further ones are refused."""
    durable: bool = True
    """Whether accepted runs are recorded, so that the next process continues them after a crash."""


class CreatedRun(msgspec.Struct, frozen=True):
    """The run of a request, whether it is new, and notices for its user."""

    run_id: str
    new: bool
    notices: tuple[str, ...] = ()


class AcceptedRun(msgspec.Struct, frozen=True):
    """A run that was accepted and had not ended when this was written."""

    run_id: str


class StillWorking(SkillsRuntimeError):
    """A cancelled run has not ended yet."""

    kind = "timeout"


class RunService(RunReader):
    """All operations on the runs of a workspace; see `open_run_service`.

    Methods that start or stop work are coroutines and need the `working` block. All others block on the disk: call them
    from a thread where that matters. A run is named by its id or any other reference that `Workspace.find` accepts.
    """

    def __init__(
        self,
        workspace: Workspace,
        ledger: Ledger,
        *,
        interaction: Interaction | None = None,
        model: Model = backend_for,
        limits: ServiceLimits | None = None,
        executions: "ExecutionOptions | None" = None,
    ) -> None:
        super().__init__(workspace, ledger)
        self._execution_options = executions
        self.errors: dict[str, SkillsRuntimeError] = {}
        """Why runs that were taken on are not worked on."""
        self.stopping = False
        self._limits = limits or ServiceLimits()
        self._control = RunControl(ledger.inbox, self.ports)
        self._agents = AgentFactory(ledger.inbox, interaction, model=model)
        self._dispatcher: Dispatcher = InlineDispatcher(self, ledger, slots=self._limits.slots)
        self._accepted = JsonStore(workspace.records / "accepted", AcceptedRun) if self._limits.durable else None
        self._keys = IdempotencyKeys(workspace.records / "keys") if self._limits.durable else None
        self._locks = KeyedLocks()
        self._active: dict[str, asyncio.Event] = {}
        self._finished = asyncio.Event()
        self._openings: dict[str, _Opening] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._deciding = threading.Lock()

    def __len__(self) -> int:
        return len(self._active)

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._active

    @property
    def active(self) -> tuple[str, ...]:
        """Return the ids of the runs in progress or waiting for a slot here."""
        return tuple(self._active)

    # Skills: loaded on first use, because most callers need neither scanner nor executor.

    @cached_property
    def skills(self) -> "SkillOperations":
        """Return the operations on the skills of the workspace."""
        from skills_runtime.engine.skill_operations import SkillOperations

        return SkillOperations(self.workspace)

    @cached_property
    def executions(self) -> "Executions":
        """Return the executions of skills without a model."""
        from skills_runtime.engine.executions import Executions

        return Executions(self.workspace, self._execution_options)

    # Messages

    def send(self, run: str, text: str, *, key: str | None = None) -> InboxMessage:
        """Send a run a message that its model reads at the next turn."""
        return self._control.send(self.find(run), text, key=key)

    def answer(
        self, run: str, answers: Mapping[str, str] | str, *, call_id: str | None = None, key: str | None = None
    ) -> InboxMessage:
        """Answer a question of a run; call `proceed` to continue it."""
        return self._control.answer(self.find(run), answers, call_id=call_id, key=key)

    def answer_once(self, run: str, answers: Mapping[str, str] | str, *, call_id: str | None = None) -> InboxMessage:
        """Answer a question of a run; a number selects a choice, and a different answer later is refused."""
        return self._control.answer_once(self.find(run), answers, call_id=call_id)

    def decide(self, approval: OpenApproval, answer: ApprovalAnswer) -> InboxMessage:
        """Decide on a request; only the first decision on exactly what was shown counts. `proceed` continues the run.

        A rule that outlives the run is added only now, so that a decision that came too late adds none.
        """
        if approval.sent_decision is not None:
            raise ApprovalStale(f"`{approval.id}` was decided already: {approval.sent_decision.get('decision')}")
        decision = answer.decision_on(approval)
        with self._deciding:  # of two concurrent decisions the second is refused
            message = self._control.decide(
                approval.paths,
                decision,
                approval_id=approval.id,
                approval_key=answer.approval_key or approval.pending.approval_key,
            )
        if answer.rule in PERSISTENT_SCOPES:
            add_rule(self.rule_file, build_rule(approval.request(), answer.rule))
        return message

    def review(self, run: str, *, accept: bool, note: str = "") -> RunStatus:
        """Accept a result that waits for review, or send it back with a note; call `proceed` to continue the run."""
        paths = self.find(run)
        status = self._control.approve(paths, note) if accept else self._control.revise(paths, note)
        self.record(paths)
        return status

    # Work

    async def create(
        self, request: RunRequest, *, resolved: Resolved | None = None, caller: str = "", key: str | None = None
    ) -> CreatedRun:
        """Create a run and schedule it; when this returns, it is durable and survives a crash.

        `resolved` are its settings, if already resolved. The same `key` of the same caller returns the same run.
        """
        self._check_capacity()
        return await self._run_shielded(self._create(request, resolved, caller, key))

    async def resume(
        self,
        run: str,
        overrides: RunOverrides | None = None,
        *,
        resolved: Resolved | None = None,
        adopt: bool = False,
    ) -> str:
        """Continue a run that waits, was stopped or lost its process; return its id.

        `adopt` takes it over from a machine whose key is missing here.
        """
        self._check_capacity()
        return await self._run_shielded(self._resume(run, overrides or RunOverrides(), resolved, adopt=adopt))

    async def proceed(self, run: str) -> None:
        """Continue a run if it only waited for what was just sent to it."""
        target = await asyncio.to_thread(self.find_run_to_continue, run)
        await self._run_shielded(self._proceed(target))

    async def wait(self, run_id: str) -> None:
        """Wait until a run is no longer in progress here."""
        if (active := self._active.get(run_id)) is not None:
            await active.wait()

    async def stop(self, run_id: str) -> None:
        """Stop executing a run here without ending it; returns when all its tasks have stopped."""
        await self._dispatcher.stop(run_id)

    async def cancel(
        self,
        run: str,
        reason: str = "cancelled",
        *,
        key: str | None = None,
        patience: float = 0,
        on_wait: Callable[[], None] = lambda: None,
    ) -> RunState:
        """Cancel a run for good and return its state.

        If another process executes it, the state may be the old one, unless `patience` is the time to wait for its end;
        `on_wait` is called when that takes long, and `StillWorking` is raised when the time is over.
        """
        paths = await asyncio.to_thread(self.find, run)
        initial = (await asyncio.to_thread(read_view, paths, self.ports)).state
        key = key or RandomIds().new("cancel")  # sent again it is the same message

        def request_end() -> bool:
            """Cancel the run and return whether it has ended, which it has at once if it is idle."""
            return self._control.cancel(paths, reason, key=key) is None

        if not await asyncio.to_thread(request_end):
            with suppress(TimeoutError):
                async with asyncio.timeout(CANCEL_SECONDS):
                    await self._dispatcher.cancel(initial.run_id, reason)
            if patience and not await self._wait_until_ended(paths, initial.last_seq, request_end, patience, on_wait):
                raise StillWorking(
                    f"the run `{initial.run_id}` was told to end, but has not within {patience:g} s",
                    hint="it ends when its process reads the message; `runs tail RUN --follow` shows when",
                )
        await asyncio.to_thread(self.record, paths)
        return (await asyncio.to_thread(read_view, paths, self.ports)).state

    async def delete(self, run: str, *, force: bool = False) -> DeletedRuns:
        """Delete a run with the runs of its sub-agents; `force` cancels what has not ended."""
        return await self._delete(run, await asyncio.to_thread(ForkIndex, self.ledger.index), force=force)

    async def _delete(self, run: str, forks: ForkIndex, *, force: bool = False) -> DeletedRuns:
        rows = await asyncio.to_thread(self._list_family, run)
        forks.check(rows)
        unfinished = [row for row in rows if row.status not in ENDED]
        if unfinished and not force:
            row = unfinished[0]
            raise IllegalTransition(
                f"the run `{row.run_id}` has not ended: it is {row.status}",
                hint="cancel it first, or delete it with `--force`, which cancels it",
            )
        for row in unfinished:
            await self.cancel(row.path if self.workspace.for_user else row.run_id, "deleted", patience=CANCEL_SECONDS)
        deleted = await asyncio.to_thread(delete_directories, self.ledger.index, rows)
        for row in rows:
            await asyncio.to_thread(self._forget, row.run_id)
        return deleted

    def list_prunable(self, *, older_than: timedelta | None = None, keep: int | None = None) -> list[RunRow]:
        """List the ended runs of this workspace that `prune` would delete, newest first."""
        self.refresh()
        rows = [row for row in list_rows(self.ledger.index) if self.workspace.has(row) and not is_subagent_run(row)]
        return select_prunable(rows, now=SystemClock().now(), older_than=older_than, keep=keep)

    async def prune(self, rows: Sequence[RunRow]) -> DeletedRuns:
        """Delete runs that `list_prunable` listed, except those that a fork or a process needs.

        Also removes what an interrupted deletion left behind.
        """
        await asyncio.to_thread(remove_leftovers, runs_root(self.workspace.workspace_root))
        forks, deleted = await asyncio.to_thread(ForkIndex, self.ledger.index), DeletedRuns()
        for row in rows:  # newest first: forks before the runs that they were forked from
            try:
                removed = await self._delete(row.path if self.workspace.for_user else row.run_id, forks)
            except (IllegalTransition, LogLocked):
                removed = DeletedRuns(skipped=(row.run_id,))
            forks.remove(removed.run_ids)
            deleted += removed
        return deleted

    def _list_family(self, run: str) -> list[RunRow]:
        paths = self.find(run)
        self.record(paths)
        rows = list_family(self.ledger.index, self.open_recorded(run).run_id or paths.root.name)
        if Path(rows[0].path).resolve() != paths.root.resolve():
            raise ValidationFailed(
                f"`{paths.root}` is a copy of the run at `{rows[0].path}`", hint="remove the copy by hand"
            )
        return rows

    def _forget(self, run_id: str) -> None:
        """Remove the records of a deleted run, and the link to it, if there was one."""
        self._paths_by_id.pop(run_id, None)
        if self._accepted is not None:
            self._accepted.remove(run_id)
        link = runs_root(self.workspace.workspace_root) / run_id
        if link.is_symlink():
            link.unlink(missing_ok=True)

    async def replay(self, run: str) -> Divergence | None:
        """Replay a run from its recording; return the first action that differs today."""
        paths = await asyncio.to_thread(self.find, run)
        resolved = await asyncio.to_thread(self.workspace.settings_of, paths, REPLAY_SETTINGS)
        return await asyncio.to_thread(lambda: asyncio.run(replay(paths.root, resolved)))

    @asynccontextmanager
    async def working(self, *, recover: bool = False) -> AsyncGenerator[None]:
        """Execute runs for the duration of the block; those in progress at its end are stopped and can be resumed.

        `recover` continues everything that was accepted earlier and has not ended.
        """
        if recover:
            # Read before the first request: a run that is recorded but not created yet must not count as lost.
            self._track(asyncio.create_task(self.recover(self._list_accepted())))
        try:
            yield
        finally:
            await self._close()

    async def recover(self, accepted: Sequence[str] | None = None) -> None:
        """Continue everything that was accepted and has not ended, for any reason."""
        remaining = list(accepted) if accepted is not None else self._list_accepted()
        await asyncio.to_thread(self.refresh)
        if self._keys is not None:
            await asyncio.to_thread(self._keys.remove_expired)
        while remaining:
            locked: list[str] = []
            for run_id in remaining:
                while len(self) >= self._limits.max_open:
                    self._finished.clear()
                    await self._finished.wait()
                if self.stopping:
                    return
                if not await self._recover(run_id):
                    locked.append(run_id)
            remaining = locked  # their holder may release them, or be killed, without continuing them
            await asyncio.sleep(RETRY_LOCKED_SECONDS if remaining else 0)

    def record(self, paths: RunPaths) -> None:
        """Update the index after a change made here; it catches up later if that fails now."""
        with suppress(SkillsRuntimeError, OSError):
            row, text = read_verified_row(self.ledger.index, paths.root, self.ports)
            self.ledger.index.record(row, text=text)

    # Callbacks of the dispatcher

    def open(self, run_id: str) -> OpenedRun:
        """Open a run for the dispatcher, with the agent of its settings."""
        paths, opening = self.find(run_id), self._openings.get(run_id)
        if opening is None:
            state = read_view(paths, self.ports).state
            _refuse_unreviewed(state)
            opening = _Opening(self._agents.get_agent(self.workspace.settings_of(paths)))
        self._openings[run_id] = _Opening(opening.agent)
        return OpenedRun(opening.agent.resume(paths.root, adopt=opening.adopt), opening.agent)

    def should_continue(self, run_id: str) -> bool:
        """Return whether a parked run continues; an ended run is removed from recovery."""
        return should_continue(self._read_state(run_id), self.ledger.inbox.pending(run_id))

    def on_started(self, run_id: str) -> None:
        """Note that a run is in progress here."""
        self.errors.pop(run_id, None)
        self._active.setdefault(run_id, asyncio.Event())

    def on_finished(self, run_id: str, error: SkillsRuntimeError | None) -> None:
        """Note that a run is no longer in progress here."""
        if error is not None:
            self.errors[run_id] = error
        self._openings.pop(run_id, None)
        if (active := self._active.pop(run_id, None)) is not None:
            active.set()
        self._finished.set()

    # Creating and resuming

    async def _create(self, request: RunRequest, resolved: Resolved | None, caller: str, key: str | None) -> CreatedRun:
        run_id, notices = await asyncio.to_thread(self._choose_id, request)
        if key is not None and self._keys is not None:
            run = KeyedRun(run_id, request.digest)
            run_id = (await asyncio.to_thread(self._keys.claim, caller, key, run)).run_id
        async with self._locks.hold(run_id):
            if key is not None and await asyncio.to_thread(self._exists, run_id):
                await self._proceed_locked(run_id)
                return CreatedRun(run_id, new=False)
            # Recorded first: after a crash, a run that was created but not recorded would never be executed.
            fresh = self._accepted is not None and await asyncio.to_thread(
                self._accepted.add, run_id, AcceptedRun(run_id)
            )
            try:
                session_notices = await asyncio.to_thread(self._create_directory, request, run_id, resolved)
            except BaseException:
                if fresh and self._accepted is not None:
                    self._accepted.remove(run_id)
                if key is not None and self._keys is not None:
                    self._keys.release(caller, key, run_id)
                raise
            await self._schedule(run_id)
        return CreatedRun(run_id, new=True, notices=(*notices, *session_notices))

    def _choose_id(self, request: RunRequest) -> tuple[str, list[str]]:
        """Choose the id of a new run; an id derived only from a directory's name yields to an existing run."""
        path, fresh = request.sandbox_path, RandomIds().new("run")
        run_id = check_id(request.run_id, "run") if request.run_id else None
        if run_id in RESERVED_RUN_IDS:
            raise ValidationFailed(f"no run can be called `{run_id}`", hint="choose another id, or none")
        run_id = run_id or (path.name if path is not None and is_legal_id(path.name) else None)
        if run_id is None:
            return fresh, []
        try:
            existing = Path(self.ledger.index.get(run_id).path)
        except NotFound:
            return run_id, []
        root = (path or runs_root(self.workspace.workspace_root) / run_id).resolve()
        if existing == root or is_gone(existing):
            return run_id, []
        if request.run_id:
            message = f"the run id `{run_id}` names a run at `{existing}`"
            raise RunExists(message, hint="choose another `--run-id`", run_id=run_id)
        return fresh, [f"the id `{run_id}` names a run at `{existing}`, so this run is `{fresh}`"]

    def _create_directory(self, request: RunRequest, run_id: str, resolved: Resolved | None) -> tuple[str, ...]:
        """Create the directory of a run; return notices for its user."""
        agent_request = AgentRequest(
            prompt=request.prompt,
            session_id=request.session_id,
            task_id=request.task_id,
            run_id=run_id,
            sandbox_path=request.sandbox_path,
            images=request.images,
        )
        if request.fork_of is not None:
            resolved, agent_request = self._fork_request(request, request.fork_of, agent_request, resolved)
        elif resolved is None:
            resolved = self.workspace.settings(self._changes(request))
        if request.skills:
            agent_request = msgspec.structs.replace(
                agent_request, prompt=add_skill_mentions(agent_request.prompt, request.skills, resolved)
            )
        agent = self._agents.get_agent(resolved)
        agent_request, session_notices = add_session_history(
            agent_request, self.ledger.index, resolved.settings.prompt, self.ports
        )
        run = agent.create(agent_request)
        run.close()
        self.locate(run_id, run.paths)
        self._openings[run_id] = _Opening(agent)
        if not self.workspace.for_user:
            return ()
        return (*resolved.notices, *agent.notices(run_id), *session_notices)

    def _changes(self, request: RunRequest) -> dict[str, Any]:
        """Return the settings that a request changes; a client may only restrict a run."""
        allowed = self.workspace.settings().settings
        check_overrides(request.overrides, allowed)
        changes = deep_merge(request.overrides.settings(), build_source_settings(request.skill_sources, allowed.skills))
        return deep_merge(changes, request.settings)

    def _fork_request(
        self, request: RunRequest, parent_id: str, agent_request: AgentRequest, resolved: Resolved | None
    ) -> tuple[Resolved, AgentRequest]:
        parent = self.find(parent_id)
        state = read_view(parent, self.ports).state
        if resolved is None:
            resolved = self.workspace.settings_of(parent, self._changes(request))
        agent_request = msgspec.structs.replace(
            agent_request,
            prompt=request.prompt or read_prompt(parent.root),
            session_id=state.session_id,
            task_id=state.task_id,
            fork=fork_point(parent.root, state.last_seq if request.fork_at is None else request.fork_at, self.ports),
        )
        return resolved, agent_request

    async def _resume(self, run: str, overrides: RunOverrides, resolved: Resolved | None, *, adopt: bool) -> str:
        run_id, opening = await asyncio.to_thread(self._prepare, run, overrides, resolved, adopt=adopt)
        async with self._locks.hold(run_id):
            if run_id in self:
                raise LogLocked(f"the run `{run_id}` is already in progress", run_id=run_id)
            self._openings[run_id] = opening
            await self._schedule(run_id)
        return run_id

    def _prepare(
        self, run: str, overrides: RunOverrides, resolved: Resolved | None, *, adopt: bool
    ) -> "tuple[str, _Opening]":
        """Return the id of a run and how to open it."""
        paths = self.find(run)
        # The log of another machine cannot be verified before it is adopted.
        state = fold(read_events(paths), RunState()) if adopt else read_view(paths, self.ports).state
        _refuse_unreviewed(state)
        self.locate(state.run_id, paths)
        if resolved is None:
            check_overrides(overrides, self.workspace.settings().settings)
            resolved = self.workspace.settings_of(paths, overrides.settings())
        return state.run_id, _Opening(self._agents.get_agent(resolved), adopt=adopt)

    async def _proceed(self, run_id: str) -> bool:
        async with self._locks.hold(run_id):
            return await self._proceed_locked(run_id)

    async def _proceed_locked(self, run_id: str) -> bool:
        """Schedule a run unless it is scheduled or waits for something else; false if another process has it."""
        if self.stopping:
            return True
        state = (await asyncio.to_thread(self.view, run_id)).state
        if not should_resume(state, self.ledger.inbox.pending(run_id)):
            return True
        with suppress(LogEnded):
            try:
                await self._schedule(run_id)
            except LogLocked:  # another process works on it, and takes it in
                return False
        return True

    async def _schedule(self, run_id: str) -> None:
        if self._accepted is not None:
            await asyncio.to_thread(self._accepted.put, run_id, AcceptedRun(run_id))
        try:
            await self._dispatcher.schedule(run_id)
        except BaseException:
            if run_id not in self:
                self._openings.pop(run_id, None)
            raise

    # Recovery and shutdown

    async def _recover(self, run_id: str) -> bool:
        """Continue a run if it should; return false if it is locked and has to be tried again."""
        try:
            await asyncio.to_thread(self._catch_up, run_id)
            if (await asyncio.to_thread(self._read_state, run_id)).open:
                return await self._proceed(run_id)
        except NotFound:
            async with self._locks.hold(run_id):  # the client may have resumed it meanwhile
                if self._accepted is not None and not await asyncio.to_thread(self._exists, run_id):
                    self._accepted.remove(run_id)
        except SkillsRuntimeError as error:
            self.errors[run_id] = error
        return True

    def _catch_up(self, run_id: str) -> None:
        """Finish the bookkeeping of a run whose process was killed right at its end."""
        paths = self.find(run_id)
        state = read_view(paths, self.ports).state
        if not state.open:
            with suppress(LogLocked):
                catch_up(paths, state, self.ports)

    def _read_state(self, run_id: str) -> RunState:
        """Return the state of a run; an ended run is removed from recovery."""
        state = self.view(run_id).state
        if not state.open and self._accepted is not None:
            self._accepted.remove(run_id)
        return state

    def _exists(self, run_id: str) -> bool:
        try:
            self.find(run_id)
        except NotFound:
            return False
        return True

    def _list_accepted(self) -> list[str]:
        return [run_id for run_id, _ in self._accepted.all()] if self._accepted is not None else []

    def _check_capacity(self) -> None:
        if self.stopping:
            raise Busy("the service is about to stop")
        if len(self) >= self._limits.max_open:
            raise Busy(f"{len(self)} runs are in progress or waiting for a slot")

    async def _wait_until_ended(
        self, paths: RunPaths, start: int, tell: Callable[[], bool], patience: float, on_wait: Callable[[], None]
    ) -> bool:
        """Follow the log of a cancelled run to its end; when it is silent, check whether its process is gone."""

        async def read() -> None:
            async for _ in follow_lines(paths, from_seq=start):
                pass

        end = asyncio.create_task(read())
        try:
            for second in range(1, int(patience / MAX_SILENT_SECONDS) + 1):
                await asyncio.wait({end}, timeout=MAX_SILENT_SECONDS)
                if end.done():
                    end.result()
                    return True
                with suppress(LogEnded):
                    if not await asyncio.to_thread(tell):
                        if second == 2:
                            on_wait()
                        continue
                return True
            return False
        finally:
            end.cancel()
            await asyncio.wait({end})

    async def _run_shielded(self, work: Coroutine[Any, Any, T]) -> T:
        """Finish the work even if the caller is cancelled: a half-opened run would have no owner."""
        task = asyncio.create_task(work)
        self._track(task)
        return await asyncio.shield(task)

    def _track(self, task: "asyncio.Task[Any]") -> None:
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _close(self) -> None:
        self.stopping = True
        for task in tuple(self._background):
            task.cancel()
        if self._background:
            await asyncio.wait(self._background)
        await asyncio.gather(*(self._dispatcher.stop(run_id) for run_id in tuple(self._active)))
        await self._dispatcher.drain()
        await self._agents.close()


class _Opening(msgspec.Struct, frozen=True):
    """How a run is opened while it is in progress here."""

    agent: Agent
    adopt: bool = False


def _refuse_unreviewed(state: RunState) -> None:
    if state.status is RunStatus.REVIEW_REQUIRED:
        raise IllegalTransition(
            f"the result of `{state.run_id}` waits for review", hint="accept it, or send it back, by `…/review`"
        )


@contextmanager
def open_run_service(
    workspace: Workspace,
    *,
    interaction: Interaction | None = None,
    model: Model = backend_for,
    limits: ServiceLimits | None = None,
    executions: "ExecutionOptions | None" = None,
) -> Generator[RunService]:
    """Open the application layer over a workspace and the ledger of its user."""
    with open_ledger(workspace.state, clock=SystemClock(), ids=RandomIds()) as ledger:
        yield RunService(workspace, ledger, interaction=interaction, model=model, limits=limits, executions=executions)
