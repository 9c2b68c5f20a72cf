"""From settings and a request to the frozen beginning of a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from skills_runtime.agent.equipment import RunRequest
from skills_runtime.agent.output import demand
from skills_runtime.agent.skills.libraries import library_of
from skills_runtime.events import Payload
from skills_runtime.ports import Secrets
from skills_runtime.runs import Deliverable, RunSpec, is_legal_id, runs_root

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.skills import Library, PromptParts


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
        constraints=demand(resolved.settings.run.output_schema),
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


def text_in(path: Path) -> str:
    """The text of a file to the letter, with the ends of lines it has."""
    return path.read_bytes().decode()


def _id_from(sandbox_path: Path | None) -> str | None:
    return sandbox_path.name if sandbox_path is not None and is_legal_id(sandbox_path.name) else None
