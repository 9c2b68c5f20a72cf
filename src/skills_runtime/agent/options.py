"""Options of an agent besides its settings, and the request for one run."""

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
    """What one kind of sub-agent may use: never more than its parent."""

    tools: frozenset[str] | None = None
    """Names of its tools; `None` means those of its parent."""
    skills: frozenset[str] | None = None
    """Names or mentions of its skills; `None` means those of its parent."""
    max_steps: int | None = None
    description: str = ""


class AgentOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of an agent besides its settings."""

    tools: Registry
    backend: Backend | None = None
    approver: Approver | None = None
    remembered: dict[str, str] = {}
    """Approvals that hold for the lifetime of this agent."""
    rules: Rules | None = None
    """Rules that decide on calls; `None` means those of the settings and the rule files."""
    decision_cache: DecisionCache = {}
    """Decisions on tools that declare only an effect, shared by all runs of the agent."""
    secrets: Secrets | None = None
    """Secrets to redact; `None` means those found in the environment."""
    log_ports: LogPorts | None = None
    """Keys, clock and disk of the logs; `None` means those of this machine."""
    human: HumanIO | None = None
    inbox: Inbox | None = None
    skills_of: SkillsOf | None = None
    """Returns the events for skills that messages mention; `None` means the default lookup."""
    hooks: tuple[Callable[[Event], None], ...] = ()
    cancel_checker: Callable[[], bool] | None = None
    profiles: Mapping[str, ChildProfile] | None = None
    """Profiles of sub-agents by name; `None` means that sub-agents need none."""
    budget: Budget | None = None
    """Share of the parent's remaining budget for a sub-agent; `None` means the budget of the settings."""
    allowed_tools: frozenset[str] | None = None
    """Names of all tools a sub-agent may have; `None` means no restriction."""
    depth: int = 0
    """Number of ancestor runs."""
    initial_skills: Mapping[str, str] | None = None
    """Digests of the skills when the topmost ancestor started, by mention; `None` without an ancestor."""
    library: "Library | None" = None
    """The skills; `None` means those that the settings describe."""
    disabled_skills: tuple[Path, ...] = ()
    """Paths of skills that are left out."""
    templates: Mapping[str, str] = {}
    """System prompts by name, for `prompt.template`."""
    sessions: "ExecSessions | None" = None
    """Terminal sessions that outlast a run."""
    children: Children | None = None
    """Port that starts sub-agents instead of the agent itself."""


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Request for a run: the task, and optionally its ids and directory."""

    prompt: str
    sandbox_path: Path | None = None
    session_id: str | None = None
    task_id: str | None = None
    run_id: str | None = None
    earlier_tasks: tuple[SessionTask, ...] = ()
    history: tuple[Mapping[str, str], ...] = ()
    """Earlier messages of the session: `role` and `content`."""
    history_runs: tuple[str, ...] = ()
    images: tuple[Path, ...] = ()
    fork: ForkPoint | None = None
    parent_run_id: str | None = None
    ids: Ids = msgspec.field(default_factory=RandomIds)
