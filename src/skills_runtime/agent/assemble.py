"""From resolved settings to the values a run starts from and the ports it works with.

Configuration is imported where it is used: reading settings needs pydantic, importing an agent does not.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.agent.libraries import library_of
from skills_runtime.agent.loop.ports import AgentPorts, Control, RunScope
from skills_runtime.agent.offering import offered
from skills_runtime.agent.receiving import SkillsOf
from skills_runtime.agent.recorded import recording_of, replaying
from skills_runtime.agent.skill_news import SkillNews
from skills_runtime.agent.standing import Standing
from skills_runtime.agent.steering import SteeredSkills
from skills_runtime.agent.walls import FenceOnDemand, gate_of, secrets_in, skill_directories
from skills_runtime.clock import RandomIds
from skills_runtime.errors import ConfigError
from skills_runtime.events import Event, Payload
from skills_runtime.events.payloads import ForkPoint
from skills_runtime.llm import RetryPolicy, fake_backend, openai_backend
from skills_runtime.ports import (
    Approver,
    Backend,
    Children,
    Files,
    HumanIO,
    Ids,
    Inbox,
    Secrets,
)
from skills_runtime.runs import Deliverable, KeyRing, LogPorts, Run, RunSpec, files_of, is_legal_id, runs_root
from skills_runtime.runs.spec import SessionTask, WorkspaceMode
from skills_runtime.safety import Rules
from skills_runtime.safety.gate import Known
from skills_runtime.safety.limits import Limits
from skills_runtime.safety.purse import Purse
from skills_runtime.tools import Registry

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.skills import Library, PromptParts
    from skills_runtime.tools.exec_sessions import ExecSessions


class ChildProfile(msgspec.Struct, frozen=True, kw_only=True):
    """What a kind of sub-agent may use: never more than the agent that begins it."""

    tools: frozenset[str] | None = None
    """The names of its tools; nothing means those of its parent."""
    skills: frozenset[str] | None = None
    """The names or mentions of its skills; nothing means those of its parent."""
    max_steps: int | None = None
    description: str = ""


class Equipment(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent was given besides its settings."""

    tools: Registry
    backend: Backend | None = None
    approver: Approver | None = None
    remembered: dict[str, str] = {}
    """What was approved for as long as this agent is there."""
    rules: Rules | None = None
    """What decides on calls; nothing means what the settings and the rule files say."""
    known: Known = {}
    """What these rules say of tools that tell nothing but their effect, in all runs of one agent."""
    secrets: Secrets | None = None
    """What must not be shown; nothing means what the environment tells."""
    human: HumanIO | None = None
    inbox: Inbox | None = None
    skills_of: SkillsOf | None = None
    """What becomes of the skills that messages mention; nothing means that they are looked for."""
    hooks: tuple[Callable[[Event], None], ...] = ()
    cancel_checker: Callable[[], bool] | None = None
    profiles: Mapping[str, ChildProfile] | None = None
    """What sub-agents may be; nothing means that there are none."""
    limits: Limits | None = None
    """What a sub-agent may use of what its parent has left."""
    purse: Purse | None = None
    """Where that is counted while both work; nothing means that no run stands above."""
    only: frozenset[str] | None = None
    """The names of all tools a sub-agent may have; nothing means that nobody narrowed them."""
    depth: int = 0
    """How many runs stand above this agent's."""
    first_skills: Mapping[str, str] | None = None
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


def config_text_of(resolved: "Resolved", secrets: Secrets | None = None) -> str:
    """The settings as every run of an agent archives them; writing them out costs more than the rest of a small run."""
    from skills_runtime.config import snapshot

    settings = resolved.settings
    if secrets is not None:  # what a model would be told; anything else in settings is checked when they are read
        told = {name: secrets.value(value) for name, value in settings.prompt}
        settings = settings.model_copy(update={"prompt": settings.prompt.model_copy(update=told)})
    return snapshot(settings)


def prompt_parts(
    resolved: "Resolved",
    task: str,
    tool_names: Sequence[str],
    library: "Library | None" = None,
    templates: Mapping[str, str] | None = None,
) -> "PromptParts":
    """What a run tells its model before anything else."""
    from skills_runtime.skills import assemble
    from skills_runtime.skills.prompt.profile import with_template

    return assemble(
        with_template(resolved.settings.prompt, templates or {}),
        task=task,
        cwd=resolved.workspace_root,
        library=library or library_of(resolved),
        tool_names=tool_names,
    )


def spec_for(
    resolved: "Resolved",
    request: RunRequest,
    *,
    config_text: str | None = None,
    system_prompt: str | None = None,
    beginning: tuple[Payload, ...] = (),
    blobs: tuple[bytes, ...] = (),
) -> RunSpec:
    """The frozen beginning of a run; `config_text` spares those who start many runs to write it out each time."""
    settings, ids = resolved.settings, request.ids
    run_id = request.run_id or _id_from(request.sandbox_path) or ids.new("run")
    home = runs_root(resolved.workspace_root) / run_id
    root = request.sandbox_path.resolve() if request.sandbox_path else home
    required = tuple(
        Deliverable(path=one.path, media_type=one.media_type or "", description=one.description or "")
        for one in settings.deliverables.required
    )
    return RunSpec(
        run_id=run_id,
        session_id=request.session_id or ids.new("sess"),
        task_id=request.task_id or ids.new("task"),
        root=root,
        link=home if request.sandbox_path and root != home.parent.resolve() / home.name else None,
        workspace_root=resolved.workspace_root,
        prompt=request.prompt,
        config_text=config_text if config_text is not None else config_text_of(resolved),
        system_prompt=system_prompt if system_prompt is not None else prompt_parts(resolved, request.prompt, ()).system,
        profile_id=settings.profile_id,
        workspace_mode=settings.sandbox.workspace,
        delete=settings.sandbox.delete,
        isolation=settings.sandbox.default_policy,
        required_deliverables=required,
        earlier_tasks=request.earlier_tasks,
        max_wall_time_sec=settings.run.max_wall_time_sec,
        environment_keys=(settings.llm.api_key_env,),
        fork=request.fork,
        beginning=beginning,
        blobs=blobs,
        parent_run_id=request.fork.run_id if request.fork else request.parent_run_id,
    )


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
        limits=equipment.limits or standing.limits,
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


def text_in(path: Path) -> str:
    """The text of a file to the letter, with the ends of lines it has."""
    return path.read_bytes().decode()


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


def backend_for(resolved: "Resolved") -> Backend:
    """The model that `llm.backend` names."""
    llm = resolved.settings.llm
    if llm.backend == "fake":
        return fake_backend(Path(llm.fake.script) if llm.fake.script else None)
    if llm.backend == "replay":
        if llm.replay.run is None:
            raise ConfigError("`llm.backend: replay` needs a run", hint="set `llm.replay.run` to a run directory")
        root = Path(llm.replay.run)
        return replaying(root, recording_of(root))
    retry = llm.retry
    backend = openai_backend(
        base_url=llm.base_url,
        api_key=resolved.environment.get(llm.api_key_env) or "",
        api_key_env=llm.api_key_env,
        timeout_sec=llm.timeout_sec,
        retry=RetryPolicy(
            max_retries=retry.max_retries,
            base_delay_sec=retry.base_delay_sec,
            cap_delay_sec=retry.cap_delay_sec,
            jitter_ratio=retry.jitter_ratio,
        ),
    )
    _refuse_to_leak(resolved)
    return backend


def _refuse_to_leak(resolved: "Resolved") -> None:
    """A project you only looked at must not choose where your own key is sent."""
    llm = resolved.settings.llm
    chosen = {"llm.base_url", "llm.api_key_env"} & resolved.by_project
    if chosen and resolved.environment.trust(llm.api_key_env) == "user":
        raise ConfigError(
            f"this project wants your `{llm.api_key_env}` to be sent to `{llm.base_url}`",
            hint=f"if that is right, say so yourself: --set llm.base_url={llm.base_url}"
            f" --set llm.api_key_env={llm.api_key_env}",
        )


def _id_from(sandbox_path: Path | None) -> str | None:
    return sandbox_path.name if sandbox_path is not None and is_legal_id(sandbox_path.name) else None
