"""The one application layer over runs: the CLI, the HTTP service and the workspace server parse, call it, and render.

`RunService` creates, resumes, cancels and lists runs, sends messages to them and finds what they wait for. Work goes to
a `Dispatcher` by run id; what came of it is read from the log. It knows nothing of HTTP, terminals or exit codes.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
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
    rule_for,
)
from skills_runtime.engine.dispatcher import DEFAULT_SLOTS, Dispatcher, InlineDispatcher, KeyedLocks, OpenedRun
from skills_runtime.engine.json_store import IdempotencyKeys, JsonStore, KeyedRun
from skills_runtime.engine.recovery import should_continue, should_resume
from skills_runtime.engine.replay import Divergence, replay
from skills_runtime.engine.run_control import RunControl
from skills_runtime.engine.run_index import read_verified_row
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
from skills_runtime.ledger import Ledger, is_gone, open_ledger
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
"""How long a run that is worked on here may take to end before whoever cancelled it is answered."""
RETRY_LOCKED_SECONDS = 0.5
"""How soon a run is tried again that another process held when it should have gone on."""
MAX_SILENT_SECONDS = 1.0
"""How long nothing may happen in a cancelled run before we look whether anybody still works on it."""
REPLAY_SETTINGS: Mapping[str, Any] = {
    "sandbox": {"workspace": "isolated"},
    "safety": {"mode": "allow"},
    "deliverables": {"required": []},
}
"""A replay touches no workspace, asks nobody and hands nothing over: its tools only repeat what they said."""
T = TypeVar("T")


class ServiceLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much a service takes on."""

    slots: int = DEFAULT_SLOTS
    """Runs that are worked on at once."""
    max_open: int = 256
    """Runs that are worked on or wait for a slot; one more is refused."""
    durable: bool = True
    """Whether accepted runs are recorded, so that the next process goes on with them after a crash."""


class CreatedRun(msgspec.Struct, frozen=True):
    """The run of a request, whether it is a new one, and what its user should know about it."""

    run_id: str
    new: bool
    notices: tuple[str, ...] = ()


class AcceptedRun(msgspec.Struct, frozen=True):
    """A run that was taken on and had not ended when this was written."""

    run_id: str


class StillWorking(SkillsRuntimeError):
    """A run was told to end and has not yet."""

    kind = "timeout"


class RunService(RunReader):
    """Everything that can be done with the runs of a workspace; see `open_run_service`.

    Methods that start or stop work are coroutines, and need the `working` block. All others wait for the disk: call
    them from a thread where that matters. A run is named by its id, or by whatever else `Workspace.find` understands.
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
        """The ids of the runs that are worked on here, or wait for a slot."""
        return tuple(self._active)

    # Skills: loaded when they are used, for most callers need neither scanner nor executor.

    @cached_property
    def skills(self) -> "SkillOperations":
        """What can be done with the skills of the workspace."""
        from skills_runtime.engine.skill_operations import SkillOperations

        return SkillOperations(self.workspace)

    @cached_property
    def executions(self) -> "Executions":
        """The executions of skills without a model."""
        from skills_runtime.engine.executions import Executions

        return Executions(self.workspace, self._execution_options)

    # Messages

    def send(self, run: str, text: str, *, key: str | None = None) -> InboxMessage:
        """Tell a run something that its model reads at the next turn."""
        return self._control.send(self.find(run), text, key=key)

    def answer(
        self, run: str, answers: Mapping[str, str] | str, *, call_id: str | None = None, key: str | None = None
    ) -> InboxMessage:
        """Answer what a run has asked; `proceed` lets it go on."""
        return self._control.answer(self.find(run), answers, call_id=call_id, key=key)

    def answer_once(self, run: str, answers: Mapping[str, str] | str, *, call_id: str | None = None) -> InboxMessage:
        """Answer what a run has asked; the number of a choice stands for it, and another answer later is refused."""
        return self._control.answer_once(self.find(run), answers, call_id=call_id)

    def decide(self, approval: OpenApproval, answer: ApprovalAnswer) -> InboxMessage:
        """Decide on a request; only the first decision on exactly what was seen counts. `proceed` lets the run go on.

        A rule that outlives the run is added only now: a decision that came too late leaves none behind.
        """
        if approval.decided is not None:
            raise ApprovalStale(f"`{approval.id}` was decided already: {approval.decided.get('decision')}")
        decision = answer.decision_on(approval)
        with self._deciding:  # of two at the same moment one is told that the other was faster
            message = self._control.decide(
                approval.paths,
                decision,
                approval_id=approval.id,
                approval_key=answer.approval_key or approval.pending.approval_key,
            )
        if answer.rule in PERSISTENT_SCOPES:
            add_rule(self.rule_file, rule_for(approval.request(), answer.rule))
        return message

    def review(self, run: str, *, accept: bool, note: str = "") -> RunStatus:
        """Accept a result that waits for review, or send it back with a note; `proceed` lets the run go on."""
        paths = self.find(run)
        status = self._control.approve(paths, note) if accept else self._control.revise(paths, note)
        self.record(paths)
        return status

    # Work

    async def create(
        self, request: RunRequest, *, resolved: Resolved | None = None, caller: str = "", key: str | None = None
    ) -> CreatedRun:
        """Create a run and schedule it; when this returns it is on the disk, and worked on even after a crash.

        `resolved` are its settings where somebody has resolved them already. The same `key` of the same caller is the
        same run.
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
        """Go on with a run that waits, was stopped or was left by its process; returns its id.

        `adopt` takes it over from a machine whose key is not here.
        """
        self._check_capacity()
        return await self._run_shielded(self._resume(run, overrides or RunOverrides(), resolved, adopt=adopt))

    async def proceed(self, run: str) -> None:
        """Let a run take in what was just sent to it, if it only waited for that."""
        target = await asyncio.to_thread(self.whose_turn, run)
        await self._run_shielded(self._proceed(target))

    async def wait(self, run_id: str) -> None:
        """Return when nobody works on a run here any more."""
        if (active := self._active.get(run_id)) is not None:
            await active.wait()

    async def stop(self, run_id: str) -> None:
        """Stop the work on a run here without ending it; returns when nothing of it runs any more."""
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
        """End a run for good and return its state.

        Of one that another process works on the state may be the old one, unless `patience` is the time to wait for it
        to end; `on_wait` is called when that takes long, and `StillWorking` raised when it takes longer.
        """
        paths = await asyncio.to_thread(self.find, run)
        initial = (await asyncio.to_thread(read_view, paths, self.ports)).state
        key = key or RandomIds().new("cancel")  # sent again it is the same message

        def request_end() -> bool:
            """Whether the run has ended: at once when nobody works on it."""
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

    async def replay(self, run: str) -> Divergence | None:
        """Repeat a run with what it recorded; returns the first move that differs today."""
        paths = await asyncio.to_thread(self.find, run)
        resolved = await asyncio.to_thread(self.workspace.settings_of, paths, REPLAY_SETTINGS)
        return await asyncio.to_thread(lambda: asyncio.run(replay(paths.root, resolved)))

    @asynccontextmanager
    async def working(self, *, recover: bool = False) -> AsyncGenerator[None]:
        """Work on runs for the length of the block; what is under way at its end is stopped, and can be resumed.

        `recover` goes on with everything that was taken on before and not finished.
        """
        if recover:
            # Looked up before the first request comes: a run that is recorded and not made yet is none that was lost.
            self._track(asyncio.create_task(self.recover(self._accepted_ids())))
        try:
            yield
        finally:
            await self._close()

    async def recover(self, accepted: Sequence[str] | None = None) -> None:
        """Go on with everything that was taken on and not finished, whatever ended the process before."""
        remaining = list(accepted) if accepted is not None else self._accepted_ids()
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
            remaining = locked  # whoever holds them now may only look, or be killed before it is done
            await asyncio.sleep(RETRY_LOCKED_SECONDS if remaining else 0)

    def record(self, paths: RunPaths) -> None:
        """Let the index know of a change made here; it catches up later when it cannot be told now."""
        with suppress(SkillsRuntimeError, OSError):
            row, text = read_verified_row(self.ledger.index, paths.root, self.ports)
            self.ledger.index.record(row, text=text)

    # What the dispatcher asks

    def open(self, run_id: str) -> OpenedRun:
        """Open a run for the dispatcher, with the agent of its settings."""
        paths, opening = self.find(run_id), self._openings.get(run_id)
        if opening is None:
            state = read_view(paths, self.ports).state
            _refuse_unreviewed(state)
            opening = _Opening(self._agents.agent_for(self.workspace.settings_of(paths)))
        self._openings[run_id] = _Opening(opening.agent)
        return OpenedRun(opening.agent.resume(paths.root, adopt=opening.adopt), opening.agent)

    def should_continue(self, run_id: str) -> bool:
        """Whether a run that stopped by itself goes on; one that has ended is not to be recovered any more."""
        return should_continue(self._read_state(run_id), self.ledger.inbox.pending(run_id))

    def on_started(self, run_id: str) -> None:
        """Note that a run is worked on here."""
        self.errors.pop(run_id, None)
        self._active.setdefault(run_id, asyncio.Event())

    def on_finished(self, run_id: str, error: SkillsRuntimeError | None) -> None:
        """Note that a run is not worked on here any more."""
        if error is not None:
            self.errors[run_id] = error
        self._openings.pop(run_id, None)
        if (active := self._active.pop(run_id, None)) is not None:
            active.set()
        self._finished.set()

    # Creating and going on

    async def _create(self, request: RunRequest, resolved: Resolved | None, caller: str, key: str | None) -> CreatedRun:
        run_id, notices = await asyncio.to_thread(self._choose_id, request)
        if key is not None and self._keys is not None:
            run = KeyedRun(run_id, request.digest)
            run_id = (await asyncio.to_thread(self._keys.claim, caller, key, run)).run_id
        async with self._locks.hold(run_id):
            if key is not None and await asyncio.to_thread(self._exists, run_id):
                await self._proceed_locked(run_id)
                return CreatedRun(run_id, new=False)
            # Recorded first: a run that is made and then lost sight of would never be worked on.
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
        """The id of a new run; one that was only taken from a directory's name gives way to a run elsewhere."""
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
        """Make the directory of a run; returns what its user should know."""
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
        agent = self._agents.agent_for(resolved)
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
        """The settings that a request changes; a client may only make a run smaller."""
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
                raise LogLocked(f"the run `{run_id}` is being worked on already", run_id=run_id)
            self._openings[run_id] = opening
            await self._schedule(run_id)
        return run_id

    def _prepare(
        self, run: str, overrides: RunOverrides, resolved: Resolved | None, *, adopt: bool
    ) -> "tuple[str, _Opening]":
        """The id of a run, and how it is to be opened."""
        paths = self.find(run)
        # The log of another machine cannot be verified before it is adopted.
        state = fold(read_events(paths), RunState()) if adopt else read_view(paths, self.ports).state
        _refuse_unreviewed(state)
        self.locate(state.run_id, paths)
        if resolved is None:
            check_overrides(overrides, self.workspace.settings().settings)
            resolved = self.workspace.settings_of(paths, overrides.settings(), adopt=adopt)
        return state.run_id, _Opening(self._agents.agent_for(resolved), adopt=adopt)

    async def _proceed(self, run_id: str) -> bool:
        async with self._locks.hold(run_id):
            return await self._proceed_locked(run_id)

    async def _proceed_locked(self, run_id: str) -> bool:
        """Schedule a run, unless it is already, or waits for something else; false where another process holds it."""
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

    # Recovery and the end

    async def _recover(self, run_id: str) -> bool:
        """Go on with a run, if it should; false where it is held by somebody and has to be tried again."""
        try:
            await asyncio.to_thread(self._catch_up, run_id)
            if (await asyncio.to_thread(self._read_state, run_id)).open:
                return await self._proceed(run_id)
        except NotFound:
            async with self._locks.hold(run_id):  # whoever asked for it may have come again meanwhile
                if self._accepted is not None and not await asyncio.to_thread(self._exists, run_id):
                    self._accepted.remove(run_id)
        except SkillsRuntimeError as error:
            self.errors[run_id] = error
        return True

    def _catch_up(self, run_id: str) -> None:
        """Do for a run that ended what its process, killed right then, could not do any more."""
        paths = self.find(run_id)
        state = read_view(paths, self.ports).state
        if not state.open:
            with suppress(LogLocked):
                catch_up(paths, state, self.ports)

    def _read_state(self, run_id: str) -> RunState:
        """The state of a run; one that has ended is not to be recovered any more."""
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

    def _accepted_ids(self) -> list[str]:
        return [run_id for run_id, _ in self._accepted.all()] if self._accepted is not None else []

    def _check_capacity(self) -> None:
        if self.stopping:
            raise Busy("the service is about to stop")
        if len(self) >= self._limits.max_open:
            raise Busy(f"{len(self)} runs are under way or wait for their turn")

    async def _wait_until_ended(
        self, paths: RunPaths, start: int, tell: Callable[[], bool], patience: float, on_wait: Callable[[], None]
    ) -> bool:
        """Follow the log of a cancelled run to its end; whenever it is silent, look whether its process is gone."""

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
        """Do it even if the caller is cancelled: a run that is half opened belongs to nobody."""
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
    """How a run is opened as long as it is worked on here."""

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
