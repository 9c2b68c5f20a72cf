"""What an agent is given besides its settings, and what it is asked to run."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.agent.loop.budget import Budget
from skills_runtime.agent.loop.ports import SkillsOf
from skills_runtime.clock import RandomIds
from skills_runtime.events import Event, ForkPoint
from skills_runtime.ports import Approver, Backend, Children, HumanIO, Ids, Inbox, Secrets
from skills_runtime.runs import LogPorts, SessionTask
from skills_runtime.safety import DecisionCache, Rules
from skills_runtime.tools import Registry

if TYPE_CHECKING:
    from skills_runtime.skills import Library
    from skills_runtime.tools import ExecSessions


class ChildProfile(msgspec.Struct, frozen=True, kw_only=True):
    """What a kind of sub-agent may use: never more than the agent that begins it."""

    tools: frozenset[str] | None = None
    """The names of its tools; nothing means those of its parent."""
    skills: frozenset[str] | None = None
    """The names or mentions of its skills; nothing means those of its parent."""
    max_steps: int | None = None
    description: str = ""


class AgentOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent was given besides its settings."""

    tools: Registry
    backend: Backend | None = None
    approver: Approver | None = None
    remembered: dict[str, str] = {}
    """What was approved for as long as this agent is there."""
    rules: Rules | None = None
    """What decides on calls; nothing means what the settings and the rule files say."""
    decision_cache: DecisionCache = {}
    """What these rules say of tools that tell nothing but their effect, in all runs of one agent."""
    secrets: Secrets | None = None
    """What must not be shown; nothing means what the environment tells."""
    log_ports: LogPorts | None = None
    """Keys, clock and disk of the logs; nothing means those of this machine."""
    human: HumanIO | None = None
    inbox: Inbox | None = None
    skills_of: SkillsOf | None = None
    """What becomes of the skills that messages mention; nothing means that they are looked for."""
    hooks: tuple[Callable[[Event], None], ...] = ()
    cancel_checker: Callable[[], bool] | None = None
    profiles: Mapping[str, ChildProfile] | None = None
    """What sub-agents may be; nothing means that there are none."""
    budget: Budget | None = None
    """What a sub-agent may use of what its parent has left; nothing means what the settings say."""
    allowed_tools: frozenset[str] | None = None
    """The names of all tools a sub-agent may have; nothing means that nobody narrowed them."""
    depth: int = 0
    """How many runs stand above this agent's."""
    initial_skills: Mapping[str, str] | None = None
    """What the skills were when the first of those began, by mention; nothing means that none stands above."""
    library: "Library | None" = None
    """The skills; nothing means those that the settings name."""
    disabled_skills: tuple[Path, ...] = ()
    """Where skills lie that are left out."""
    templates: Mapping[str, str] = {}
    """System texts by name, for `prompt.template`."""
    sessions: "ExecSessions | None" = None
    """Where terminal sessions live that outlast a run."""
    children: Children | None = None
    """Who begins sub-agents, instead of the agent itself."""


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody asks for: a task, and perhaps where it goes and who it is."""

    prompt: str
    sandbox_path: Path | None = None
    session_id: str | None = None
    task_id: str | None = None
    run_id: str | None = None
    earlier_tasks: tuple[SessionTask, ...] = ()
    history: tuple[Mapping[str, str], ...] = ()
    """What was said in the session before: `role` and `content`."""
    history_runs: tuple[str, ...] = ()
    images: tuple[Path, ...] = ()
    fork: ForkPoint | None = None
    parent_run_id: str | None = None
    ids: Ids = msgspec.field(default_factory=RandomIds)
