"""From resolved settings to the values a run starts from and the ports it works with.

Configuration is imported where it is used: reading settings needs pydantic, importing an agent does not.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.agent.ports import AgentPorts
from skills_runtime.agent.prompt import SYSTEM_PROMPT
from skills_runtime.agent.recorded import recorded_answers
from skills_runtime.clock import RandomIds
from skills_runtime.errors import ConfigError
from skills_runtime.events.payloads import ForkPoint
from skills_runtime.llm import OpenAIChatBackend, ReplayBackend, RetryingBackend, RetryPolicy, load_script
from skills_runtime.ports import Approver, Backend, Ids
from skills_runtime.runs import Deliverable, KeyRing, LogPorts, Run, RunSpec, files_of, is_legal_id, runs_root
from skills_runtime.runs.spec import SessionTask, WorkspaceMode
from skills_runtime.tools import Registry

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

_KEY = re.compile("[!-~]+")
"""What can be sent as a key: printable ASCII without spaces."""


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody asks for: a task, and perhaps where it goes and who it is."""

    prompt: str
    sandbox_path: Path | None = None
    session_id: str | None = None
    task_id: str | None = None
    run_id: str | None = None
    earlier_tasks: tuple[SessionTask, ...] = ()
    fork: ForkPoint | None = None
    ids: Ids = msgspec.field(default_factory=RandomIds)


def config_text_of(resolved: "Resolved") -> str:
    """The settings as every run of an agent archives them; writing them out costs more than the rest of a small run."""
    from skills_runtime.config import snapshot

    return snapshot(resolved.settings)


def spec_for(resolved: "Resolved", request: RunRequest, *, config_text: str | None = None) -> RunSpec:
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
        link=home if root != home.parent.resolve() / home.name else None,
        workspace_root=resolved.workspace_root,
        prompt=request.prompt,
        config_text=config_text if config_text is not None else config_text_of(resolved),
        system_prompt=_system_prompt(resolved),
        profile_id=settings.profile_id,
        workspace_mode=settings.sandbox.workspace,
        delete=settings.sandbox.delete,
        isolation=settings.sandbox.default_policy,
        required_deliverables=required,
        earlier_tasks=request.earlier_tasks,
        max_wall_time_sec=settings.run.max_wall_time_sec,
        environment_keys=(settings.llm.api_key_env,),
        fork=request.fork,
        parent_run_id=request.fork.run_id if request.fork else None,
    )


def log_ports() -> LogPorts:
    """Keys, clock and disk of this machine."""
    from skills_runtime.config import state_home

    return LogPorts(keys=KeyRing(state_home() / "keys"))


def agent_ports(
    run: Run, resolved: "Resolved", backend: Backend, tools: Registry, approver: Approver | None
) -> AgentPorts:
    """What the loop works with."""
    settings = resolved.settings
    mode = _mode(run, settings.sandbox.workspace)
    return AgentPorts(
        backend=backend,
        tools=tools,
        files=files_of(run, resolved.workspace_root, mode=mode, delete=settings.sandbox.delete),
        system_prompt=(run.paths.root / "effective-system-prompt.md").read_text(encoding="utf-8"),
        planner_model=settings.models.planner,
        executor_model=settings.models.executor,
        safety_mode=settings.safety.mode,
        tool_allowlist=settings.safety.tool_allowlist,
        tool_denylist=settings.safety.tool_denylist,
        approver=approver,
        approval_timeout_ms=settings.safety.approval_timeout_ms,
        max_steps=settings.run.max_steps,
        max_wall_time_sec=settings.run.max_wall_time_sec,
    )


def _mode(run: Run, now: WorkspaceMode) -> WorkspaceMode:
    """Where the run was told to work when it was made, whatever the settings say now."""
    recorded: dict[str, WorkspaceMode] = {"shared": "shared", "isolated": "isolated"}
    return recorded.get(run.state.workspace_mode, now)


def backend_for(resolved: "Resolved") -> Backend:
    """The model that `llm.backend` names."""
    llm = resolved.settings.llm
    if llm.backend == "fake":
        if llm.fake.script is None:
            raise ConfigError("`llm.backend: fake` needs a script", hint="set `llm.fake.script` to a YAML file")
        return load_script(Path(llm.fake.script))
    if llm.backend == "replay":
        if llm.replay.run is None:
            raise ConfigError("`llm.backend: replay` needs a run", hint="set `llm.replay.run` to a run directory")
        return ReplayBackend(recorded_answers(Path(llm.replay.run)))
    api_key = (resolved.environment.get(llm.api_key_env) or "").strip()
    if not api_key:
        raise ConfigError(
            f"the environment variable `{llm.api_key_env}` is not set",
            hint="set it, or work offline with `llm.backend: fake`",
        )
    if not _KEY.fullmatch(api_key):
        raise ConfigError(
            f"the environment variable `{llm.api_key_env}` does not hold a key", hint="a key has no spaces or umlauts"
        )
    _refuse_to_leak(resolved)
    policy = RetryPolicy(
        max_retries=llm.retry.max_retries,
        base_delay_sec=llm.retry.base_delay_sec,
        cap_delay_sec=llm.retry.cap_delay_sec,
        jitter_ratio=llm.retry.jitter_ratio,
    )
    backend = OpenAIChatBackend(base_url=llm.base_url, api_key=api_key, timeout_sec=llm.timeout_sec)
    return RetryingBackend(backend, policy)


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


def config_summary(resolved: "Resolved") -> Mapping[str, object]:
    """What the first event of a segment says about its configuration."""
    settings = resolved.settings
    return {
        "profile_id": settings.profile_id,
        "models": {"planner": settings.models.planner, "executor": settings.models.executor},
        "llm": {"base_url": settings.llm.base_url, "api_key_env": settings.llm.api_key_env},
        "config_overlays": [str(path) for path in resolved.overlay_paths],
    }


def _id_from(sandbox_path: Path | None) -> str | None:
    return sandbox_path.name if sandbox_path is not None and is_legal_id(sandbox_path.name) else None


def _system_prompt(resolved: "Resolved") -> str:
    prompt = resolved.settings.prompt
    if prompt.system_text is not None:
        return prompt.system_text
    if prompt.system_path is None:
        return SYSTEM_PROMPT
    try:
        return Path(prompt.system_path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the system prompt `{prompt.system_path}` cannot be read: {error}") from error
