"""Alternative entry points: a builder for agents, and a coordinator of several agents.

A child's task is an ordinary run; its result reaches the parent as history.
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
from skills_runtime.safety.approvals import ApprovalFunction

if TYPE_CHECKING:
    from skills_runtime.skills import Library
    from skills_runtime.tools import ExecSessions
    from skills_runtime.tools.builtin import SearchProvider


class AgentBuilder:
    """Collect the options of an agent; one builder can build several agents."""

    def __init__(self) -> None:
        self._options: dict[str, Any] = {}
        self._paths: list[Path | str] = []
        self._overlays: dict[str, Any] = {}
        self._hooks: list[Callable[[Event], None]] = []

    @classmethod
    def cloud_unattended_preset(cls) -> Self:
        """Return a builder for unattended runs: unapproved calls are denied, missing variables fail the run."""
        unattended = {"safety": {"mode": "ask"}, "skills": {"env_var_missing_policy": "fail_fast"}}
        return cls().add_config_overlay(unattended).approval_provider(RuleBasedApprovalProvider())

    def workspace_root(self, path: Path | str) -> Self:
        """Set the workspace."""
        return self._with(workspace_root=path)

    def backend(self, backend: Backend) -> Self:
        """Set the model backend."""
        return self._with(backend=backend)

    def tools(self, tools: Iterable[Tool]) -> Self:
        """Set the tools that the model gets besides the built-in ones."""
        return self._with(tools=list(tools))

    def config_paths(self, paths: Iterable[Path | str]) -> Self:
        """Set the configuration files, replacing earlier ones."""
        self._paths = list(paths)
        return self

    def add_config_path(self, path: Path | str) -> Self:
        """Add a configuration file that overrides the earlier ones."""
        self._paths.append(path)
        return self

    def add_config_overlay(self, settings: Mapping[str, Any]) -> Self:
        """Add settings for this agent that override every file; nothing is written to disk."""
        from skills_runtime.config import deep_merge

        self._overlays = deep_merge(self._overlays, settings)
        return self

    def model(self, name: str) -> Self:
        """Set the model for planning and execution."""
        return self._with(model=name)

    def planner_model(self, name: str) -> Self:
        """Set the model that plans and summarizes."""
        return self._with(planner_model=name)

    def executor_model(self, name: str) -> Self:
        """Set the model that executes."""
        return self._with(executor_model=name)

    def env_vars(self, variables: Mapping[str, str]) -> Self:
        """Set environment variables that override those of the process."""
        return self._with(env_vars=variables)

    def approval_provider(self, approver: Approver | ApprovalFunction) -> Self:
        """Set the provider that decides approval requests."""
        return self._with(approval_provider=approver)

    def human_io(self, human: HumanIO) -> Self:
        """Set the port that asks the user."""
        return self._with(human_io=human)

    def inbox(self, inbox: Inbox) -> Self:
        """Set the inbox that messages to runs come from."""
        return self._with(inbox=inbox)

    def cancel_checker(self, checker: Callable[[], bool]) -> Self:
        """Set the function that tells whether to cancel."""
        return self._with(cancel_checker=checker)

    def child_profile_map(self, profiles: Mapping[str, ChildProfile]) -> Self:
        """Set the profiles that sub-agents may have."""
        return self._with(child_profile_map=profiles)

    def skills_manager(self, library: "Library") -> Self:
        """Set the skills library instead of the one that the settings describe."""
        return self._with(skills_manager=library)

    def skills_disabled_paths(self, paths: Iterable[Path | str]) -> Self:
        """Set the paths of skills to leave out."""
        return self._with(skills_disabled_paths=tuple(paths))

    def prompt_templates(self, templates: Mapping[str, str]) -> Self:
        """Set system prompts by name, for `prompt.template`."""
        return self._with(prompt_templates=templates)

    def exec_sessions(self, sessions: "ExecSessions") -> Self:
        """Set the terminal sessions that outlast a run."""
        return self._with(exec_sessions=sessions)

    def collab_manager(self, children: Children) -> Self:
        """Set the port that starts sub-agents instead of the agent itself."""
        return self._with(collab_manager=children)

    def wal_backend(self, backend: object) -> Self:
        """Set a log backend; building the agent refuses it, because the log is always in the run directory."""
        return self._with(wal_backend=backend)

    def profile_id(self, name: str) -> Self:
        """Set the profile id of the runs."""
        return self._with(profile_id=name)

    def search(self, provider: "SearchProvider") -> Self:
        """Set the search provider for `web_search`."""
        return self._with(search=provider)

    def event_hooks(self, hooks: Iterable[Callable[[Event], None]]) -> Self:
        """Set the callbacks that receive every event."""
        self._hooks = list(hooks)
        return self

    def build(self) -> Agent:
        """Build the agent."""
        return Agent(
            config_paths=self._paths, session_settings=self._overlays, event_hooks=self._hooks, **self._options
        )

    def _with(self, **options: Any) -> Self:
        self._options.update(options)
        return self


class ChildResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a child's task."""

    summary: str
    status: ResultStatus
    artifacts: tuple[str, ...]
    wal_locator: str


class Coordinator:
    """Distribute tasks to agents; the first agent is the parent."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        if not agents:
            raise ValidationFailed("a coordinator needs an agent")
        self._agents = tuple(agents)

    def run(self, task: str) -> RunResult:
        """Run a task with the parent."""
        return self._agents[0].run(task)

    def run_child_task(self, task: str, *, child: int = 1) -> ChildResult:
        """Run a task with one of the other agents."""
        if not 0 <= child < len(self._agents):
            raise ValidationFailed(f"there is no agent {child}", hint=f"there are {len(self._agents)}, from 0")
        return _child_result(self._agents[child].run(task))

    def run_with_child(self, task: str, child_task: str, *, child: int = 1) -> RunResult:
        """Run a child's task first, then the parent's task with the result as history."""
        result = self.run_child_task(child_task, child=child)
        history = [{"role": "user", "content": child_task}, {"role": "assistant", "content": result.summary}]
        return self._agents[0].run(task, initial_history=history)

    async def run_children_concurrent(self, tasks: Sequence[str]) -> list[ChildResult]:
        """Run tasks with the other agents concurrently; if there are more tasks than agents, agents get several."""
        agents = self._agents[1:] or self._agents
        work = [agents[number % len(agents)].run_async(task) for number, task in enumerate(tasks)]
        return [_child_result(result) for result in await asyncio.gather(*work)]


def _child_result(result: RunResult) -> ChildResult:
    return ChildResult(
        summary=result.final_output, status=result.status, artifacts=result.artifacts, wal_locator=result.wal_locator
    )
