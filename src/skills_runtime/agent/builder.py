"""The Agent, put together one piece at a time."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from skills_runtime.agent.agent import Agent
from skills_runtime.agent.options import ChildProfile
from skills_runtime.events import Event
from skills_runtime.ports import Approver, Backend, Children, HumanIO, Inbox, Tool
from skills_runtime.safety import RuleBasedApprovalProvider

if TYPE_CHECKING:
    from skills_runtime.skills import Library
    from skills_runtime.tools.builtin import SearchProvider
    from skills_runtime.tools.exec_sessions import ExecSessions


class AgentBuilder:
    """Collects what an agent is made of; the same builder may build several."""

    def __init__(self) -> None:
        self._given: dict[str, Any] = {}
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
        from skills_runtime.config.merge import deep_merge

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
        return Agent(config_paths=self._paths, session_settings=self._overlays, event_hooks=self._hooks, **self._given)

    def _with(self, **given: Any) -> Self:
        self._given.update(given)
        return self
