"""The Agent: the door for Python callers.

Assembles settings, run and ports, then hands over to the loop.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload
from weakref import WeakKeyDictionary

import msgspec

from skills_runtime.agent.assemble import (
    ChildProfile,
    Equipment,
    RunRequest,
    agent_ports,
    backend_for,
    config_text_of,
    log_ports,
    prompt_parts,
    spec_for,
    text_in,
)
from skills_runtime.agent.beginning import BEGUN, gather, start, told_of
from skills_runtime.agent.children import ChildRuns
from skills_runtime.agent.loop import run_segment
from skills_runtime.agent.loop.ports import Control
from skills_runtime.agent.outcome import RunResult, result_of
from skills_runtime.agent.rules import rules_for
from skills_runtime.agent.skills import Seen, left_out, library_for
from skills_runtime.agent.standing import Standing, standing_of
from skills_runtime.agent.walls import secrets_in, without_secrets
from skills_runtime.agent.watching import cancelled_by
from skills_runtime.errors import ConfigError, StorageFailed
from skills_runtime.events import Event
from skills_runtime.events.payloads import RunCancelled
from skills_runtime.llm.output import check_schema
from skills_runtime.ports import Approver, Backend, Children, Effect, HumanIO, Inbox, Question, Recovery, Tool
from skills_runtime.runs import Run, check_id, create_run, finish_run, fork_point, open_run, runs_root
from skills_runtime.safety import Rules
from skills_runtime.safety.gate import Known
from skills_runtime.tools import Registry, builtin_tools, tool_from

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.skills import Library, MissingVariable
    from skills_runtime.tools.builtin import SearchProvider
    from skills_runtime.tools.exec_sessions import ExecSessions

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Agent:
    """Runs tasks in a workspace, each as one run with one log."""

    def __init__(  # noqa: PLR0913 - the seed's signature, by name only
        self,
        *,
        workspace_root: Path | str | None = None,
        backend: Backend | None = None,
        config_paths: Iterable[Path | str] = (),
        session_settings: Mapping[str, Any] | None = None,
        profile_id: str | None = None,
        model: str | None = None,
        planner_model: str | None = None,
        executor_model: str | None = None,
        env_vars: Mapping[str, str] | None = None,
        approval_provider: Approver | None = None,
        human_io: HumanIO | None = None,
        inbox: Inbox | None = None,
        search: "SearchProvider | None" = None,
        cancel_checker: Callable[[], bool] | None = None,
        event_hooks: Iterable[Callable[[Event], None]] = (),
        child_profile_map: Mapping[str, ChildProfile] | None = None,
        skills_manager: "Library | None" = None,
        skills_disabled_paths: Iterable[Path | str] = (),
        prompt_templates: Mapping[str, str] | None = None,
        exec_sessions: "ExecSessions | None" = None,
        collab_manager: Children | None = None,
        wal_backend: object = None,
    ) -> None:
        from skills_runtime.config import resolve
        from skills_runtime.config.environment import process_environ

        _refuse_another_log(wal_backend)
        names = {"planner": planner_model or model, "executor": executor_model or model}
        resolved = resolve(
            Path(workspace_root) if workspace_root is not None else Path.cwd(),
            config_paths=[Path(path) for path in config_paths],
            session_settings=_over(session_settings or {}, models=names, profile_id=profile_id),
            environ={**process_environ(), **env_vars} if env_vars else None,
        )
        disabled = left_out(skills_disabled_paths, resolved.workspace_root)
        equipment = Equipment(
            tools=builtin_tools(search),
            backend=backend,
            approver=approval_provider,
            human=human_io,
            inbox=inbox,
            hooks=tuple(event_hooks),
            cancel_checker=cancel_checker,
            profiles=child_profile_map,
            library=skills_manager.without(disabled) if skills_manager and disabled else skills_manager,
            disabled_skills=disabled,
            templates=prompt_templates or {},
            sessions=exec_sessions,
            children=collab_manager,
        )
        self._equip(resolved, equipment)

    @classmethod
    def from_resolved(cls, resolved: "Resolved", equipment: Equipment | None = None) -> "Agent":
        """An agent over settings somebody else resolved."""
        agent = cls.__new__(cls)
        agent._equip(resolved, equipment or Equipment(tools=builtin_tools()))
        return agent

    def _equip(self, resolved: "Resolved", equipment: Equipment) -> None:
        self._resolved = resolved
        self._equipment = equipment
        self._backend = equipment.backend
        self._tools: Registry = equipment.tools
        self._config_text: str | None = None
        self._secrets = equipment.secrets or secrets_in(resolved)
        self._log_ports = log_ports(self._secrets)
        self._variables: dict[str, str] = {}
        self._rules: Rules | None = equipment.rules
        self._known: Known = {}
        self._stands: Standing | None = None
        self._has_skills = Seen(resolved, equipment)
        self._equipment_of: WeakKeyDictionary[Run, Equipment] = WeakKeyDictionary()
        """What runs were made with that nobody has worked on yet: skills are looked for once."""

    @property
    def resolved(self) -> "Resolved":
        """The settings, and where each comes from."""
        return self._resolved

    @property
    def workspace_root(self) -> Path:
        """Where the agent works."""
        return self._resolved.workspace_root

    def register_tool(self, tool: Tool, *, override: bool = False) -> None:
        """Offer one more tool to the model."""
        self._tools.add(tool, override=override)

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(
        self,
        /,
        *,
        name: str | None = None,
        effect: Effect = "effectful",
        recovery: Recovery | None = None,
        timeout_sec: float | None = None,
        verify: Callable[..., Any] | None = None,
    ) -> Callable[[F], F]: ...
    def tool(
        self,
        function: F | None = None,
        /,
        *,
        name: str | None = None,
        effect: Effect = "effectful",
        recovery: Recovery | None = None,
        timeout_sec: float | None = None,
        verify: Callable[..., Any] | None = None,
    ) -> F | Callable[[F], F]:
        """Offer a typed function to the model: `@agent.tool`, or `@agent.tool(effect="read")`."""

        def offer(one: F) -> F:
            tool = tool_from(one, name=name, effect=effect, recovery=recovery, timeout_sec=timeout_sec, verify=verify)
            self._tools.add(tool)
            return one

        return offer if function is None else offer(function)

    def run(
        self, task: str, *, run_id: str | None = None, initial_history: Sequence[Mapping[str, str]] = ()
    ) -> RunResult:
        """Work on a task until it ends or waits; the id of a run that has not ended continues it."""
        return _wait(self._run_once(self._request(task, run_id, initial_history)))

    async def run_async(
        self, task: str, *, run_id: str | None = None, initial_history: Sequence[Mapping[str, str]] = ()
    ) -> RunResult:
        """Like `run`, on the caller's event loop."""
        return await self.execute(await self._open(self._request(task, run_id, initial_history)))

    def fork(self, root: Path, seq: int, *, prompt: str | None = None, run_id: str | None = None) -> Run:
        """A new run that goes on from event `seq` of another, perhaps with another prompt."""
        point = fork_point(root, seq, self._log_ports)
        task = prompt if prompt is not None else text_in(Path(point.root) / "prompt.md")
        return self.create(RunRequest(prompt=task, run_id=run_id, fork=point))

    async def run_stream_async(
        self, task: str, *, run_id: str | None = None, initial_history: Sequence[Mapping[str, str]] = ()
    ) -> AsyncGenerator[Event]:
        """The events of a run as they happen; leaving early stops the run cleanly."""
        run = await self._open(self._request(task, run_id, initial_history))
        happened: asyncio.Queue[Event | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def listen(event: Event) -> None:
            loop.call_soon_threadsafe(happened.put_nowait, event)

        run.listen(listen)
        work = asyncio.create_task(self.execute(run), name=f"run {run.state.run_id}")
        work.add_done_callback(lambda _: loop.call_soon(happened.put_nowait, None))
        try:
            while (event := await happened.get()) is not None:
                yield event
            work.result()
        finally:
            work.cancel()
            await asyncio.wait([work])

    def run_stream(
        self, task: str, *, run_id: str | None = None, initial_history: Sequence[Mapping[str, str]] = ()
    ) -> Iterator[Event]:
        """Like `run_stream_async`, for callers without an event loop."""
        with asyncio.Runner() as runner:
            events = self.run_stream_async(task, run_id=run_id, initial_history=initial_history)
            try:
                while (event := runner.run(_next(events))) is not None:
                    yield event
            finally:
                runner.run(events.aclose())
                runner.run(self.aclose())

    async def _run_once(self, request: RunRequest) -> RunResult:
        """A run on an event loop of its own, which takes the model's connections with it."""
        try:
            return await self.execute(await self._open(request))
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Close the model's connections in this event loop; the agent can still be used."""
        close: Callable[[], Awaitable[None]] | None = getattr(self._backend, "aclose", None)
        if close is not None:
            await close()

    def create(self, request: RunRequest, *, told: "Sequence[MissingVariable]" = (), working: bool = False) -> Run:
        """Make the directory of a new run with all it starts from; `pending`, or `working` from its first moment.

        `told` are the variables that somebody was asked for.
        """
        schema = self._resolved.settings.run.output_schema
        if schema is not None:
            check_schema(schema)
        equipment = self._equipped()  # rules that cannot be read leave no run behind
        request = without_secrets(request, self._secrets)
        if self._config_text is None:
            self._config_text = config_text_of(self._resolved, self._secrets)
        material = gather(self._resolved, request, equipment, self._secrets)
        spec = spec_for(
            self._resolved,
            request,
            config_text=self._config_text,
            system_prompt=material.system_prompt,
            beginning=(*told_of(told, self._resolved), *material.events, *((BEGUN,) if working else ())),
            blobs=material.blobs,
        )
        run = create_run(spec, self._log_ports)
        self._equipment_of[run] = equipment
        return run

    def resume(self, root: Path, *, adopt: bool = False) -> Run:
        """Open a run that has not ended, to go on with it."""
        return open_run(root, self._log_ports, adopt=adopt)

    async def execute(self, run: Run, *, control: Control | None = None) -> RunResult:
        """Work on an open run until it ends, waits or is left for later, then close it."""
        control = control or Control()
        try:
            for hook in self._equipment.hooks:
                run.listen(hook)
            equipment = self._equipment_of.pop(run, None) or self._equipped()
            children = ChildRuns(self, equipment, run)
            standing, strategy = self._standing(), self._resolved.settings.run.resume_strategy
            ports = agent_ports(run, standing, equipment, self._model(), control=control, children=children)
            await start(run, workspace_root=self.workspace_root, summary=standing.summary, strategy=strategy)
            try:
                async with cancelled_by(self._equipment.cancel_checker, control):
                    await run_segment(run, ports)
            finally:
                await children.aclose()
                await ports.scope.aclose()
        except asyncio.CancelledError:
            if run.state.open and not control.stopping:  # cancelled before the loop had begun
                finish_run(run, RunCancelled(message="cancelled", wal_locator=str(run.paths.events)))
            raise
        except StorageFailed as error:
            # The disk is the one thing the log cannot tell of: the run stays open and can be resumed.
            return result_of(run, error)
        finally:
            run.close()
        return result_of(run, structured=self._resolved.settings.run.output_schema is not None)

    async def _ask_for_variables(self, task: str) -> "Sequence[MissingVariable]":
        """Ask for what skills need and nobody has set; the values are kept in memory only."""
        human = self._equipment.human
        if human is None or not self._has_skills():
            return ()
        missing = prompt_parts(self._resolved, task, (), self._library(), self._equipment.templates).missing_env
        for one in missing:
            question = Question(id=one.name, question=f"The skill `{one.skill_name}` needs `{one.name}`. What is it?")
            self._variables[one.name] = await human.ask(question, call_id=f"variable_{one.name}")
            self._secrets.hide(self._variables[one.name])
        return missing

    def _equipped(self) -> Equipment:
        """What runs are given; rule files are read once, as the settings are."""
        if self._rules is None:
            self._rules = rules_for(self._resolved)
        library = self._library() if self._has_skills() else None
        return msgspec.structs.replace(
            self._equipment, rules=self._rules, known=self._known, secrets=self._secrets, library=library
        )

    def _library(self) -> "Library":
        return library_for(self._resolved, self._equipment, self._variables)

    def _standing(self) -> Standing:
        if self._stands is None:
            self._stands = standing_of(self._resolved)
        return self._stands

    def _model(self) -> Backend:
        if self._backend is None:
            self._backend = backend_for(self._resolved)
        return self._backend

    def _request(self, task: str, run_id: str | None, history: Sequence[Mapping[str, str]]) -> RunRequest:
        return RunRequest(prompt=task, run_id=run_id, history=tuple(history))

    async def _open(self, request: RunRequest) -> Run:
        """The run with this id if it exists, else a new one."""
        self._model()  # a configuration that cannot work leaves no run behind
        self._standing()
        existing = self._existing(request.run_id)
        return existing or self.create(request, told=await self._ask_for_variables(request.prompt), working=True)

    def _existing(self, run_id: str | None) -> Run | None:
        if run_id is None:
            return None
        root = runs_root(self._resolved.workspace_root) / check_id(run_id, "run")
        return open_run(root, self._log_ports) if root.exists() else None


def _over(settings: Mapping[str, Any], *, models: Mapping[str, str | None], profile_id: str | None) -> dict[str, Any]:
    """Settings of the session with what was given by name on top."""
    from skills_runtime.config.merge import deep_merge

    named = {name: model for name, model in models.items() if model is not None}
    chosen: dict[str, Any] = {"models": named} if named else {}
    if profile_id is not None:
        chosen["profile_id"] = profile_id
    return deep_merge(settings, chosen)


def _refuse_another_log(wal_backend: object) -> None:
    """The log that can be resumed, verified and trusted is the one in the run directory: there is no second truth."""
    if wal_backend is not None:
        raise ConfigError(
            "`wal_backend` is not supported: the log of a run is always in its run directory",
            hint="put `workspace_root` where runs shall be kept, and copy events elsewhere with `event_hooks`",
        )


async def _next(events: AsyncGenerator[Event]) -> Event | None:
    return await anext(events, None)


def _wait(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also from inside a running event loop (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="agent-run") as aside:
        return aside.submit(asyncio.run, work).result()
