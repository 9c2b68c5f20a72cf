"""From settings and equipment to the ports of a run: those of its log, and those that the loop works with."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from skills_runtime.agent.assembly.offering import offered
from skills_runtime.agent.assembly.standing import Standing
from skills_runtime.agent.assembly.walls import FenceOnDemand, gate_of, secrets_in, skill_directories
from skills_runtime.agent.equipment import Equipment
from skills_runtime.agent.loop.ports import AgentPorts, Control, RunScope
from skills_runtime.agent.skills.news import SkillNews
from skills_runtime.agent.skills.steering import SteeredSkills
from skills_runtime.ports import Backend, Children, Files, Secrets
from skills_runtime.runs import KeyRing, LogPorts, Run, files_of
from skills_runtime.runs.spec import WorkspaceMode

if TYPE_CHECKING:
    from skills_runtime.config import Resolved


def log_ports(secrets: Secrets | None = None) -> LogPorts:
    """Keys, clock and disk of this machine; what is written down has no secrets."""
    from skills_runtime.config.environment import keys_home, process_environ
    from skills_runtime.safety.redaction import Keeper, secrets_of

    known = secrets or Keeper(secrets_of(process_environ()))
    return LogPorts(keys=KeyRing(keys_home()), secrets=known)


def agent_ports(
    run: Run,
    standing: Standing,
    equipment: Equipment,
    backend: Backend,
    *,
    control: Control,
    children: Children | None,
) -> AgentPorts:
    """What the loop works with."""
    resolved = standing.resolved
    settings, secrets = resolved.settings, equipment.secrets or secrets_in(resolved)
    mode = _mode(run, settings.sandbox.workspace)
    root = resolved.workspace_root if mode == "shared" else run.paths.root / "workspace"
    return AgentPorts(
        backend=backend,
        tools=offered(run, resolved, equipment),
        files=_files(run, resolved, mode),
        gate=gate_of(run, resolved, equipment, mode),
        # Somebody is always asked about a call that wants to leave the fence: one that gets there was approved.
        sandbox=FenceOnDemand(
            resolved,
            root,
            writable=(run.paths.deliverables,),
            may_leave=True,
            skills=lambda: skill_directories(run),
        ),
        secrets=secrets,
        root=root,
        system_prompt=run.text("effective-system-prompt.md"),
        planner_model=settings.models.planner,
        executor_model=settings.models.executor,
        prices=standing.prices,
        budget=equipment.budget or standing.budget,
        context=standing.context,
        output_schema=settings.run.output_schema,
        review=settings.run.review == "required",
        inbox=equipment.inbox,
        skills_of=equipment.skills_of or SteeredSkills(run, resolved, equipment, secrets),
        news=SkillNews(equipment.library, run) if equipment.library is not None else None,
        human=equipment.human,
        human_timeout_ms=settings.run.human_timeout_ms,
        control=control,
        children=equipment.children or children,
        scope=_scope(equipment),
    )


def _files(run: Run, resolved: "Resolved", mode: WorkspaceMode) -> Callable[[], Files]:
    workspace, made = resolved.workspace_root, list[Files]()

    def files() -> Files:
        if not made:
            made.append(files_of(run, workspace, mode=mode, delete=resolved.settings.sandbox.delete))
        return made[0]

    if mode == "shared" and os.path.samefile(run.paths.root, workspace):  # noqa: PTH121 - done for every run
        files()  # says why that cannot be, before anything has happened
    return files


def _scope(equipment: Equipment) -> RunScope:
    """What tools hold on to; sessions that outlast the run are only lent to it."""
    scope, sessions = RunScope(), equipment.sessions
    if sessions is not None:
        from skills_runtime.tools.exec_sessions import Lent
        from skills_runtime.tools.terminals import RunSessions

        scope.hold(RunSessions, lambda: Lent(sessions))
    return scope


def _mode(run: Run, now: WorkspaceMode) -> WorkspaceMode:
    """Where the run was told to work when it was made, whatever the settings say now."""
    recorded: dict[str, WorkspaceMode] = {"shared": "shared", "isolated": "isolated"}
    return recorded.get(run.state.workspace_mode, now)
