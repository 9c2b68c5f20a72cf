"""The `Agent`: runs tasks in a workspace, each as one run with one log.

Turns settings and options into runs. The modules follow the steps in order: `run_inputs` collects the inputs of a run,
`create_run` creates its directory, `run_ports` builds what the loop works with, and `loop.segment` works on the run
until it ends, waits or yields.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, Unpack, cast, overload

import msgspec

from skills_runtime.agent.loop import Control, run_segment
from skills_runtime.agent.loop.budget import SharedBudget
from skills_runtime.agent.loop.control import close_all, poll_cancel_checker, wait_uncancelled
from skills_runtime.agent.loop.output import check_schema
from skills_runtime.agent.loop.segment import interruption_event, stop_event
from skills_runtime.agent.options import AgentOptions, ChildProfile, RunRequest
from skills_runtime.agent.result import RunResult, build_result
from skills_runtime.agent.run_defaults import RunDefaults, backend_for, build_defaults
from skills_runtime.agent.run_inputs import (
    RUNNING,
    assemble_prompt,
    collect_inputs,
    render_config,
    run_spec,
    start_run,
    variable_events,
    without_secrets,
)
from skills_runtime.agent.run_ports import agent_ports, log_ports, secrets_in
from skills_runtime.agent.skills.context import library_for, resolve_disabled_paths
from skills_runtime.agent.subagents.children import ChildRuns, finish_tree
from skills_runtime.errors import ConfigError, StorageFailed
from skills_runtime.events import Event, RunStatus
from skills_runtime.ports import Approver, Backend, Children, HumanIO, Inbox, Question, Tool
from skills_runtime.runs import Run, check_id, create_run, fork_point, open_run, read_prompt, runs_root
from skills_runtime.safety.approvals import ApprovalFunction, as_approver
from skills_runtime.safety.policy import LoadedRules, load_active_rules
from skills_runtime.tools import FunctionTool, Offer, builtin_tools, tool_from

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.skills import Library, MissingVariable
    from skills_runtime.tools import ExecSessions
    from skills_runtime.tools.builtin import SearchProvider

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
SKILL_TOOLS = frozenset(
    {"activate_skill", "unload_skill", "read_skill_file", "search_skills", "skill_exec", "skill_ref_read"}
)
"""Built-in tools that a run gets with its skills."""
MAX_SETUPS = 256
"""Maximum number of created runs that are not started yet; beyond it skills are discovered again."""


class _RunSetup(NamedTuple):
    options: AgentOptions
    notices: tuple[str, ...]


class Agent:
    """Run tasks in a workspace, each as one run with one log."""

    def __init__(  # noqa: PLR0913 - the seed's signature, by name only
        self,
        *,
        workspace_root: Path | str | None = None,
        backend: Backend | None = None,
        tools: Iterable[Tool] = (),
        config_paths: Iterable[Path | str] = (),
        session_settings: Mapping[str, Any] | None = None,
        profile_id: str | None = None,
        model: str | None = None,
        planner_model: str | None = None,
        executor_model: str | None = None,
        env_vars: Mapping[str, str] | None = None,
        approval_provider: Approver | ApprovalFunction | None = None,
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
        # Reading settings needs pydantic, importing an agent does not.
        from skills_runtime.config import process_environ, resolve

        if wal_backend is not None:
            raise ConfigError(
                "`wal_backend` is not supported: the log of a run is always in its run directory",
                hint="set `workspace_root` to where runs should be stored, and copy events with `event_hooks`",
            )
        names = {"planner": planner_model, "executor": executor_model}
        resolved = resolve(
            Path(workspace_root) if workspace_root is not None else Path.cwd(),
            config_paths=[Path(path) for path in config_paths],
            session_settings=_merge_settings(session_settings or {}, model=model, models=names, profile_id=profile_id),
            environ={**process_environ(), **env_vars} if env_vars else None,
        )
        disabled = resolve_disabled_paths(skills_disabled_paths, resolved.workspace_root)
        options = AgentOptions(
            tools=builtin_tools(search),
            backend=backend,
            approver=as_approver(approval_provider),
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
        self._set_up(resolved, options)
        for tool in tools:
            self.register_tool(tool)

    @classmethod
    def from_resolved(cls, resolved: "Resolved", options: AgentOptions | None = None) -> "Agent":
        """Return an agent for settings that are already resolved."""
        agent = cls.__new__(cls)
        agent._set_up(resolved, options or AgentOptions(tools=builtin_tools()))
        return agent

    def _set_up(self, resolved: "Resolved", options: AgentOptions) -> None:
        self._resolved = resolved
        self._secrets = options.secrets or secrets_in(resolved)
        self._log_ports = options.log_ports or log_ports(self._secrets)
        self._options = msgspec.structs.replace(
            options, secrets=self._secrets, log_ports=self._log_ports, decision_cache={}
        )
        self._backend = options.backend
        self._tools = options.tools
        self._rules = LoadedRules(options.rules) if options.rules is not None else None
        self._defaults: RunDefaults | None = None
        self._config_text: str | None = None
        self._variables: dict[str, str] = {}
        """Values that users entered for missing variables; kept in memory only."""
        self._setups: dict[str, _RunSetup] = {}
        """Setups of created runs that are not started yet, by run id, so that skills are discovered once per run."""

    @property
    def resolved(self) -> "Resolved":
        """The settings and where each comes from."""
        return self._resolved

    @property
    def workspace_root(self) -> Path:
        """The workspace that the agent works in."""
        return self._resolved.workspace_root

    def register_tool(self, tool: Tool, *, override: bool = False) -> None:
        """Add a tool for the model; a function in the place of a built-in tool is not the program's own any more."""
        existing = self._tools.find(tool.spec.name)
        replaces = existing.spec.approval is None if existing else tool.spec.name in SKILL_TOOLS
        added: Tool = tool
        if replaces and isinstance(tool, FunctionTool):
            added = cast("FunctionTool[Any, Any]", tool).as_replacement()
        self._tools.add(added, override=override)

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(self, /, *, override: bool = False, **offer: Unpack[Offer]) -> Callable[[F], F]: ...
    def tool(
        self, function: F | None = None, /, *, override: bool = False, **offer: Unpack[Offer]
    ) -> F | Callable[[F], F]:
        """Add a typed function as a tool: `@agent.tool`, or `@agent.tool(effect="read")`."""

        def register(function: F) -> F:
            self.register_tool(tool_from(function, **offer), override=override)
            return function

        return register if function is None else register(function)

    def run(
        self, task: str, *, run_id: str | None = None, initial_history: Sequence[Mapping[str, str]] | None = None
    ) -> RunResult:
        """Work on a task until the run ends or waits; pass the id of an open run to continue it."""
        return run_sync(self._run_once(_request(task, run_id, initial_history)))

    async def run_async(
        self, task: str, *, run_id: str | None = None, initial_history: Sequence[Mapping[str, str]] | None = None
    ) -> RunResult:
        """Like `run`, on the caller's event loop."""
        return await self.execute(await self._open(_request(task, run_id, initial_history)))

    async def run_stream_async(
        self, task: str, *, run_id: str | None = None, initial_history: Sequence[Mapping[str, str]] | None = None
    ) -> AsyncGenerator[Event]:
        """Yield the events of a run as they happen; closing the generator early stops the run cleanly."""
        run = await self._open(_request(task, run_id, initial_history))
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def listen(event: Event) -> None:
            loop.call_soon_threadsafe(events.put_nowait, event)

        run.listen(listen)
        work = asyncio.create_task(self.execute(run), name=f"run {run.state.run_id}")
        work.add_done_callback(lambda _: loop.call_soon(events.put_nowait, None))
        try:
            while (event := await events.get()) is not None:
                yield event
            work.result()
        finally:
            work.cancel()
            await wait_uncancelled([work])

    def run_stream(
        self, task: str, *, run_id: str | None = None, initial_history: Sequence[Mapping[str, str]] | None = None
    ) -> Iterator[Event]:
        """Like `run_stream_async`, for callers without an event loop."""
        return iterate_sync(self.run_stream_async(task, run_id=run_id, initial_history=initial_history), self.aclose)

    def create(self, request: RunRequest, *, variables: "Sequence[MissingVariable]" = (), working: bool = False) -> Run:
        """Create the directory of a new run with all its inputs; it is `pending`, or running at once with `working`.

        `variables` are those that a user was asked for.
        """
        return self._create(request, self._set_up_run(), variables, working=working)

    def _create(
        self, request: RunRequest, setup: _RunSetup, variables: "Sequence[MissingVariable]", *, working: bool
    ) -> Run:
        schema = self._resolved.settings.run.output_schema
        if schema is not None:
            check_schema(schema)
        request = without_secrets(request, self._secrets)
        if self._config_text is None:
            self._config_text = render_config(self._resolved, self._secrets)
        inputs = collect_inputs(self._resolved, request, setup.options, self._secrets)
        spec = run_spec(
            self._resolved,
            request,
            config_text=self._config_text,
            system_prompt=inputs.system_prompt,
            beginning=(*variable_events(variables, self._resolved), *inputs.events, *((RUNNING,) if working else ())),
            blobs=inputs.blobs,
        )
        run = create_run(spec, self._log_ports)
        self._setups[run.state.run_id] = setup
        if len(self._setups) > MAX_SETUPS:  # drop the oldest: another process works on it
            del self._setups[next(iter(self._setups))]
        return run

    def notices(self, run_id: str) -> tuple[str, ...]:
        """Return notices about the rules and skills of a run that was just created."""
        setup = self._setups.get(run_id)
        return setup.notices if setup is not None else ()

    def resume(self, root: Path, *, adopt: bool = False) -> Run:
        """Open a run that has not ended in order to continue it."""
        return open_run(root, self._log_ports, adopt=adopt)

    def fork(self, root: Path, seq: int, *, prompt: str | None = None, run_id: str | None = None) -> Run:
        """Create a run that continues from event `seq` of another run, optionally with another prompt."""
        point = fork_point(root, seq, self._log_ports)
        task = prompt if prompt is not None else read_prompt(Path(point.root))
        return self.create(RunRequest(prompt=task, run_id=run_id, fork=point))

    async def execute(
        self, run: Run, *, control: Control | None = None, shared_budget: SharedBudget | None = None
    ) -> RunResult:
        """Work on an open run until it ends, waits or yields, then close it.

        `shared_budget` is the parent's budget if this is the run of a sub-agent.
        """
        control = control or Control()
        try:
            for hook in self._options.hooks:
                run.listen(hook)
            options = (self._setups.pop(run.state.run_id, None) or self._set_up_run()).options
            defaults = self._run_defaults()
            children = ChildRuns(
                run,
                options,
                defaults.budget,
                resolved=self._resolved,
                make_agent=Agent.from_resolved,
                shared_budget=shared_budget,
            )
            ports = agent_ports(run, defaults, options, self._model(), control=control, children=children)
            await start_run(run, defaults)
            try:
                async with poll_cancel_checker(options.cancel_checker, control):
                    await run_segment(run, ports)
            finally:
                await close_all(children, ports.scope)
        except asyncio.CancelledError:
            self._record_interruption(run, control)
            raise
        except StorageFailed as error:
            # The log cannot record its own failed disk: the run stays open and can be resumed.
            return build_result(run, error)
        finally:
            run.close()
        return build_result(run, structured=self._resolved.settings.run.output_schema is not None)

    async def aclose(self) -> None:
        """Close the model's connections in this event loop; the agent can still be used."""
        close: Callable[[], Awaitable[None]] | None = getattr(self._backend, "aclose", None)
        if close is not None:
            await close()

    async def _run_once(self, request: RunRequest) -> RunResult:
        """Work on a run in its own event loop, and close the model's connections with it."""
        try:
            return await self.execute(await self._open(request))
        finally:
            await self.aclose()

    async def _open(self, request: RunRequest) -> Run:
        """Open the run with the requested id if it exists, otherwise create a new run."""
        self._model()  # fail before a run is created if the configuration is invalid
        self._run_defaults()
        if request.run_id is not None:
            root = runs_root(self._resolved.workspace_root) / check_id(request.run_id, "run")
            if root.exists():
                return open_run(root, self._log_ports)
        setup = self._set_up_run()
        variables = await self._ask_for_variables(request.prompt, setup.options)
        return self._create(request, setup, variables, working=True)

    async def _ask_for_variables(self, task: str, options: AgentOptions) -> "Sequence[MissingVariable]":
        """Ask the user for variables that skills need and that are not set; the values stay in memory only."""
        if options.human is None or options.library is None:
            return ()
        missing = assemble_prompt(self._resolved, task, (), options.library, options.templates).missing_env
        for variable in missing:
            name = variable.name
            question = Question(
                id=name, question=f"The skill `{variable.skill_name}` needs the variable `{name}`. What is its value?"
            )
            self._variables[name] = await options.human.ask(question, call_id=f"variable_{name}")
            self._secrets.hide(self._variables[name])
            options.library.set_variable(name, self._variables[name])
        return missing

    def _set_up_run(self) -> _RunSetup:
        """Return the options of one run: rule files are read once per agent, skills are discovered for each run."""
        if self._rules is None:
            self._rules = load_active_rules(self._resolved)
        library = library_for(self._resolved, self._options, self._variables)
        return _RunSetup(
            msgspec.structs.replace(self._options, rules=self._rules.rules, library=library),
            (*self._rules.notices, *(f"{problem.message}; {problem.hint}" for problem in library.notes)),
        )

    def _run_defaults(self) -> RunDefaults:
        if self._defaults is None:
            self._defaults = build_defaults(self._resolved, self._model())
        return self._defaults

    def _model(self) -> Backend:
        if self._backend is None:
            self._backend = backend_for(self._resolved)
        return self._backend

    def _record_interruption(self, run: Run, control: Control) -> None:
        """Record an interruption that the loop did not record because it had not started or had already finished."""
        locator = str(run.paths.events)
        if not run.state.open:
            return
        if not control.stopping:
            finish_tree(run, self._options.inbox, lambda: interruption_event(run.view, "", locator))
            return
        if run.state.status is RunStatus.RUNNING:
            run.append(stop_event(locator))
        run.commit()
        run.save()


def _request(task: str, run_id: str | None, history: Sequence[Mapping[str, str]] | None) -> RunRequest:
    return RunRequest(prompt=task, run_id=run_id, history=tuple(history or ()))


def _merge_settings(
    settings: Mapping[str, Any], *, model: str | None, models: Mapping[str, str | None], profile_id: str | None
) -> dict[str, Any]:
    """Return the session settings with the explicitly named ones merged on top."""
    from skills_runtime.config import build_model_choice, deep_merge

    chosen_models = {purpose: name for purpose, name in models.items() if name is not None}
    overrides = deep_merge(
        build_model_choice(model) if model is not None else {}, {"models": chosen_models} if chosen_models else {}
    )
    if profile_id is not None:
        overrides["profile_id"] = profile_id
    return deep_merge(settings, overrides)


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to completion, even if the caller is inside a running event loop (a notebook)."""
    return _without_loop(partial(asyncio.run, work))


def iterate_sync(items: AsyncGenerator[T], close: Callable[[], Awaitable[None]]) -> Iterator[T]:
    """Yield the items of an async generator; an early exit closes it, and `close` is awaited in its loop."""
    runner = asyncio.Runner()

    async def next_item() -> T | None:
        return await anext(items, None)

    async def close_items() -> None:
        try:
            await items.aclose()
        finally:
            await close()

    try:
        while (item := _without_loop(lambda: runner.run(next_item()))) is not None:
            yield item
    finally:
        try:
            _without_loop(lambda: runner.run(close_items()))
        finally:
            _without_loop(runner.close)


def _without_loop(work: Callable[[], T]) -> T:
    """Call `work` here, or in another thread if this one runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1, thread_name_prefix="agent-run") as executor:
        return executor.submit(work).result()
