"""The Agent, put together one piece at a time."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from skills_runtime.agent.assemble import ChildProfile
from skills_runtime.agent.facade import Agent
from skills_runtime.events import Event
from skills_runtime.ports import Approver, Backend, HumanIO, Inbox
from skills_runtime.safety import RuleBasedApprovalProvider


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
