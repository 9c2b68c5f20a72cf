"""From settings and a request to the frozen beginning of a run."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.agent.options import AgentOptions, RunRequest
from skills_runtime.agent.output import demand
from skills_runtime.agent.run_ports import own_runs
from skills_runtime.agent.skills.libraries import library_of
from skills_runtime.agent.skills.library import no_skills
from skills_runtime.errors import ConfigError, ValidationFailed
from skills_runtime.events import Payload
from skills_runtime.events.payloads import (
    EnvVarRequired,
    EnvVarSet,
    HistoryLoaded,
    ImagesAttached,
    RunStarted,
    RunStateChanged,
    SkillCatalogOffered,
    SkillInjected,
)
from skills_runtime.events.states import RunStatus
from skills_runtime.ports import Secrets
from skills_runtime.runs import Deliverable, Run, RunSpec, is_legal_id, runs_root
from skills_runtime.text import well_formed
from skills_runtime.tools.images import recognise

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.skills import HistoryRule, Injected, Library, MissingVariable, PromptParts
    from skills_runtime.skills.own_runs import Apart


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


IMAGE_BYTES = 20 << 20
BEGUN = RunStateChanged(before=RunStatus.PENDING.value, after=RunStatus.RUNNING.value)
"""The last of what the log of a run holds that is made and worked on at once."""


class Material(msgspec.Struct, frozen=True):
    """What a run starts from besides its task, read and found good before anything is created."""

    system_prompt: str
    events: tuple[Payload, ...]
    """What the log holds before work begins."""
    blobs: tuple[bytes, ...]
    """What these events refer to."""


def gather(resolved: "Resolved", request: RunRequest, equipment: AgentOptions, secrets: Secrets) -> Material:
    """Read and check everything a request names; no secret goes into what a model is told."""
    names, library = [tool.spec.name for tool in equipment.tools], equipment.library or no_skills()
    parts = prompt_parts(resolved, request.prompt, names, library, equipment.templates)
    if parts.missing_env:
        missing = ", ".join(f"`{one.name}`" for one in parts.missing_env)
        raise ConfigError(f"a skill needs environment variables that are not set: {missing}", hint="set them")
    history = _bounded([_spoken(one) for one in request.history], parts.history)
    loaded = [HistoryLoaded(messages=history, runs=list(request.history_runs))] if history else []
    images = [_image(path) for path in request.images]
    pictures = [{"name": name, "media_type": mime, "blob": _digest(data)} for name, mime, data in images]
    shown = [ImagesAttached(images=pictures)] if pictures else []
    apart = _apart(parts, request.prompt, resolved, equipment)
    texts = [secrets.text(one.text).encode() for one in apart.here]
    taught = [
        msgspec.structs.replace(event, text_blob=_digest(text))
        for event, text in zip(_permitted(apart.here, resolved, equipment), texts, strict=True)
    ]
    told, known = _remembered(parts.told, library, equipment)
    events = (*loaded, *told, *parts.skipped, *apart.told, *taught, *shown, *apart.called)
    return Material(secrets.text(parts.system), events, (*texts, *(data for _, _, data in images), *known))


def _remembered(
    told: "Sequence[Payload]", library: "Library", equipment: AgentOptions
) -> tuple[list[Payload], list[bytes]]:
    """The events, the one of a list with what the model knows by it: later it is told only what is different."""
    if not any(isinstance(one, SkillCatalogOffered) for one in told):
        return list(told), []
    from skills_runtime.agent.skills.permissions import only_first
    from skills_runtime.skills.catalog.marks import marks_in

    marks = only_first(marks_in(library).data, equipment.first_skills)
    return [
        msgspec.structs.replace(one, skills_blob=_digest(marks)) if isinstance(one, SkillCatalogOffered) else one
        for one in told
    ], [marks]


def _apart(parts: "PromptParts", task: str, resolved: "Resolved", equipment: AgentOptions) -> "Apart":
    """Which of the skills are worked on in the run, and which by runs of their own."""
    from skills_runtime.skills.own_runs import Apart, set_apart

    if not parts.named:
        return Apart(here=parts.injected)
    return set_apart(parts.injected, parts.named, task, own_runs(resolved, equipment, task))


def _permitted(skills: "Sequence[Injected]", resolved: "Resolved", equipment: AgentOptions) -> list[SkillInjected]:
    """The events of the skills that a run begins with, each with what it permits."""
    if not skills:
        return []
    from skills_runtime.agent.skills.permissions import SkillPermits, as_first

    permitting = SkillPermits(resolved)
    return [as_first(permitting(one.skill, one.event), one.skill, equipment.first_skills) for one in skills]


def told_of(variables: "Iterable[MissingVariable]", resolved: "Resolved") -> Iterator[Payload]:
    """The events for variables that somebody was asked for; their values are nowhere in them."""
    policy = resolved.settings.skills.env_var_missing_policy
    for one in variables:
        yield EnvVarRequired(env_var=one.name, skill_name=one.skill_name, skill_path=one.skill_path, policy=policy)
        yield EnvVarSet(env_var=one.name, skill_name=one.skill_name, skill_path=one.skill_path)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def start(run: Run, *, workspace_root: Path, summary: Mapping[str, object], strategy: str) -> None:
    """Record that somebody works on the run, for the first time or again; `strategy` says from what it goes on then."""
    resumed = bool(run.state.workspace_root)
    if run.state.status is not RunStatus.RUNNING:
        await run.change_async(RunStatus.RUNNING)
    await run.commit_async()  # one that was made `working` is durable from here on
    run.append(
        RunStarted(
            task=run.text("prompt.md"),
            workspace_root=str(workspace_root),
            config_summary=dict(summary),
            resume={"enabled": resumed, "strategy": strategy, "previous_events": run.log.next_seq},
        )
    )


def _bounded(history: list[dict[str, str]], rule: "HistoryRule") -> list[dict[str, str]]:
    """The newest messages that fit; an answer never comes without what it answers."""
    kept: list[dict[str, str]] = []
    room = rule.max_chars
    for message in reversed(history if rule.mode != "none" else []):
        room -= len(message["content"])
        if room < 0 or len(kept) == rule.max_messages:
            break
        kept.insert(0, message)
    while kept and kept[0]["role"] == "assistant":
        kept.pop(0)
    return kept


def _spoken(message: Mapping[str, str]) -> dict[str, str]:
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant") or not isinstance(content, str) or well_formed(content) != content:
        raise ValidationFailed("a message of the history needs a `role`, user or assistant, and `content` text")
    return {"role": role, "content": content}


def _image(path: Path) -> tuple[str, str, bytes]:
    try:
        with path.open("rb") as file:
            data = file.read(IMAGE_BYTES + 1)
    except OSError as error:
        raise ValidationFailed(f"the picture `{path}` cannot be read: {error.strerror}") from error
    picture = recognise(data)
    if picture is None or len(data) > IMAGE_BYTES:
        raise ValidationFailed(f"`{path}` is not a picture a model can look at", hint="use PNG, JPEG, GIF or WebP")
    return well_formed(path.name), picture.mime, data
