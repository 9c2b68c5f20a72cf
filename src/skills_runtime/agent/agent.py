"""The Agent: the door for Python callers."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from skills_runtime.agent.loop.control import wait_uncancelled
from skills_runtime.agent.options import AgentOptions, ChildProfile, RunRequest
from skills_runtime.agent.result import RunResult
from skills_runtime.agent.skills.library import left_out
from skills_runtime.agent.sync import iterate_sync, run_sync
from skills_runtime.agent.workshop import Workshop
from skills_runtime.errors import ConfigError
from skills_runtime.events import Event
from skills_runtime.ports import Approver, Backend, Children, HumanIO, Inbox, Tool
from skills_runtime.tools import builtin_tools, tool_from
from skills_runtime.tools.function import Offer

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.skills import Library
    from skills_runtime.tools.builtin import SearchProvider
    from skills_runtime.tools.exec_sessions import ExecSessions

F = TypeVar("F", bound=Callable[..., Any])


class Agent(Workshop):
    """Runs tasks in a workspace, each as one run with one log."""

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
        equipment = AgentOptions(
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
        super().__init__(resolved, equipment)
        for tool in tools:
            self.register_tool(tool)

    @classmethod
    def from_resolved(cls, resolved: "Resolved", equipment: AgentOptions | None = None) -> "Agent":
        """An agent over settings somebody else resolved."""
        agent = cls.__new__(cls)
        Workshop.__init__(agent, resolved, equipment or AgentOptions(tools=builtin_tools()))
        return agent

    def register_tool(self, tool: Tool, *, override: bool = False) -> None:
        """Offer one more tool to the model."""
        self._tools.add(tool, override=override)

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(self, /, *, override: bool = False, **offer: Unpack[Offer]) -> Callable[[F], F]: ...
    def tool(
        self, function: F | None = None, /, *, override: bool = False, **offer: Unpack[Offer]
    ) -> F | Callable[[F], F]:
        """Offer a typed function to the model: `@agent.tool`, or `@agent.tool(effect="read")`."""

        def take(one: F) -> F:
            self._tools.add(tool_from(one, **offer), override=override)
            return one

        return take if function is None else take(function)

    def run(
        self, task: str, *, run_id: str | None = None, initial_history: Sequence[Mapping[str, str]] | None = None
    ) -> RunResult:
        """Work on a task until it ends or waits; the id of a run that has not ended continues it."""
        return run_sync(self._run_once(_request(task, run_id, initial_history)))

    async def run_async(
        self, task: str, *, run_id: str | None = None, initial_history: Sequence[Mapping[str, str]] | None = None
    ) -> RunResult:
        """Like `run`, on the caller's event loop."""
        return await self.execute(await self._open(_request(task, run_id, initial_history)))

    async def run_stream_async(
        self, task: str, *, run_id: str | None = None, initial_history: Sequence[Mapping[str, str]] | None = None
    ) -> AsyncGenerator[Event]:
        """The events of a run as they happen; leaving early stops the run cleanly."""
        run = await self._open(_request(task, run_id, initial_history))
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
            await wait_uncancelled([work])

    def run_stream(
        self, task: str, *, run_id: str | None = None, initial_history: Sequence[Mapping[str, str]] | None = None
    ) -> Iterator[Event]:
        """Like `run_stream_async`, for callers without an event loop."""
        return iterate_sync(self.run_stream_async(task, run_id=run_id, initial_history=initial_history), self.aclose)

    async def _run_once(self, request: RunRequest) -> RunResult:
        """A run on an event loop of its own, which takes the model's connections with it."""
        try:
            return await self.execute(await self._open(request))
        finally:
            await self.aclose()


def _request(task: str, run_id: str | None, history: Sequence[Mapping[str, str]] | None) -> RunRequest:
    return RunRequest(prompt=task, run_id=run_id, history=tuple(history or ()))


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
