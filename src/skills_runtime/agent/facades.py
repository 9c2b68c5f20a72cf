"""The seed's other ways to use agents: a builder that collects the parts of one, and a coordinator of several.

A child's task is a run like any other; what it found reaches its parent as history.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from skills_runtime.agent.agent import Agent
from skills_runtime.agent.options import ChildProfile
from skills_runtime.agent.result import ResultStatus, RunResult
from skills_runtime.errors import ValidationFailed
from skills_runtime.events import Event
from skills_runtime.ports import Approver, Backend, Children, HumanIO, Inbox, Tool
from skills_runtime.safety import RuleBasedApprovalProvider

if TYPE_CHECKING:
    from skills_runtime.skills import Library
    from skills_runtime.tools import ExecSessions
    from skills_runtime.tools.builtin import SearchProvider


class AgentBuilder:
    """Collects what an agent is made of; the same builder may build several."""

    def __init__(self) -> None:
        self._options: dict[str, Any] = {}
        self._paths: list[Path | str] = []
        self._overlays: dict[str, Any] = {}
        self._hooks: list[Callable[[Event], None]] = []

    @classmethod
    def cloud_unattended_preset(cls) -> Self:
        """For runs that nobody watches: what no rule approves is denied, and a missing variable ends the run."""
        unattended = {"safety": {"mode": "ask"}, "skills": {"env_var_missing_policy": "fail_fast"}}
        return cls().add_config_overlay(unattended).approval_provider(RuleBasedApprovalProvider())

    def workspace_root(self, path: Path | str) -> Self:
        """Where the agent works."""
        return self._with(workspace_root=path)

    def backend(self, backend: Backend) -> Self:
        """Who answers."""
        return self._with(backend=backend)

    def tools(self, tools: Iterable[Tool]) -> Self:
        """What the model may call besides the built-in tools."""
        return self._with(tools=list(tools))

    def config_paths(self, paths: Iterable[Path | str]) -> Self:
        """The configuration files, instead of those given before."""
        self._paths = list(paths)
        return self

    def add_config_path(self, path: Path | str) -> Self:
        """One more configuration file, over those before it."""
        self._paths.append(path)
        return self

    def add_config_overlay(self, settings: Mapping[str, Any]) -> Self:
        """Settings of this agent alone, over every file; nothing is written anywhere."""
        from skills_runtime.config import deep_merge

        self._overlays = deep_merge(self._overlays, settings)
        return self

    def model(self, name: str) -> Self:
        """The model for everything."""
        return self._with(model=name)

    def planner_model(self, name: str) -> Self:
        """The model that plans and sums up."""
        return self._with(planner_model=name)

    def executor_model(self, name: str) -> Self:
        """The model that acts."""
        return self._with(executor_model=name)

    def env_vars(self, variables: Mapping[str, str]) -> Self:
        """Variables over those of the process."""
        return self._with(env_vars=variables)

    def approval_provider(self, approver: Approver) -> Self:
        """Who decides when the gate asks."""
        return self._with(approval_provider=approver)

    def human_io(self, human: HumanIO) -> Self:
        """Who can be asked right now."""
        return self._with(human_io=human)

    def inbox(self, inbox: Inbox) -> Self:
        """Where messages to the runs come from."""
        return self._with(inbox=inbox)

    def cancel_checker(self, checker: Callable[[], bool]) -> Self:
        """Something that says when to stop."""
        return self._with(cancel_checker=checker)

    def child_profile_map(self, profiles: Mapping[str, ChildProfile]) -> Self:
        """What sub-agents may be."""
        return self._with(child_profile_map=profiles)

    def skills_manager(self, library: "Library") -> Self:
        """The skills, instead of those that the settings name."""
        return self._with(skills_manager=library)

    def skills_disabled_paths(self, paths: Iterable[Path | str]) -> Self:
        """Where skills lie that are left out."""
        return self._with(skills_disabled_paths=tuple(paths))

    def prompt_templates(self, templates: Mapping[str, str]) -> Self:
        """System texts by name, of which `prompt.template` chooses one."""
        return self._with(prompt_templates=templates)

    def exec_sessions(self, sessions: "ExecSessions") -> Self:
        """Where terminal sessions live that outlast a run."""
        return self._with(exec_sessions=sessions)

    def collab_manager(self, children: Children) -> Self:
        """Who begins sub-agents, instead of the agent itself."""
        return self._with(collab_manager=children)

    def wal_backend(self, backend: object) -> Self:
        """Refused when the agent is built: the log of a run is always in its run directory."""
        return self._with(wal_backend=backend)

    def profile_id(self, name: str) -> Self:
        """The profile that runs say they belong to."""
        return self._with(profile_id=name)

    def search(self, provider: "SearchProvider") -> Self:
        """Who answers web_search."""
        return self._with(search=provider)

    def event_hooks(self, hooks: Iterable[Callable[[Event], None]]) -> Self:
        """Who is told of every event."""
        self._hooks = list(hooks)
        return self

    def build(self) -> Agent:
        """The agent."""
        return Agent(
            config_paths=self._paths, session_settings=self._overlays, event_hooks=self._hooks, **self._options
        )

    def _with(self, **options: Any) -> Self:
        self._options.update(options)
        return self


class ChildResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a child's task."""

    summary: str
    status: ResultStatus
    artifacts: tuple[str, ...]
    wal_locator: str


class Coordinator:
    """Hands tasks to agents; the first of them is the parent."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        if not agents:
            raise ValidationFailed("a coordinator needs an agent")
        self._agents = tuple(agents)

    def run(self, task: str) -> RunResult:
        """Let the parent work on a task."""
        return self._agents[0].run(task)

    def run_child_task(self, task: str, *, child: int = 1) -> ChildResult:
        """Let one of the other agents work on a task."""
        if not 0 <= child < len(self._agents):
            raise ValidationFailed(f"there is no agent {child}", hint=f"there are {len(self._agents)}, from 0")
        return _child_result(self._agents[child].run(task))

    def run_with_child(self, task: str, child_task: str, *, child: int = 1) -> RunResult:
        """Let a child work first, and the parent go on from what it found."""
        result = self.run_child_task(child_task, child=child)
        history = [{"role": "user", "content": child_task}, {"role": "assistant", "content": result.summary}]
        return self._agents[0].run(task, initial_history=history)

    async def run_children_concurrent(self, tasks: Sequence[str]) -> list[ChildResult]:
        """Let the other agents work on these tasks at the same time, in turn when there are more tasks than agents."""
        agents = self._agents[1:] or self._agents
        work = [agents[number % len(agents)].run_async(task) for number, task in enumerate(tasks)]
        return [_child_result(result) for result in await asyncio.gather(*work)]


def _child_result(result: RunResult) -> ChildResult:
    return ChildResult(
        summary=result.final_output, status=result.status, artifacts=result.artifacts, wal_locator=result.wal_locator
    )
