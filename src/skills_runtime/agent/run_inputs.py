"""The inputs of a run: specification, system prompt, history, images and skills, read before the run is created.

Only `start_run` touches the run directory: it records that work on a run starts or continues.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.agent.configured_files import with_workspace_texts
from skills_runtime.agent.loop.calls import ACTIVATE
from skills_runtime.agent.loop.output import schema_instruction
from skills_runtime.agent.options import AgentOptions, RunRequest
from skills_runtime.agent.run_defaults import RunDefaults
from skills_runtime.agent.skills.context import empty_library
from skills_runtime.agent.skills.permissions import SkillPermissions, revoke_stale_preapproval, strip_changed_marks
from skills_runtime.errors import ConfigError, ValidationFailed
from skills_runtime.events import (
    EnvVarRequired,
    EnvVarSet,
    HistoryLoaded,
    ImagesAttached,
    Payload,
    RunStarted,
    RunStateChanged,
    RunStatus,
    SkillCatalogOffered,
)
from skills_runtime.ports import Secrets
from skills_runtime.runs import Deliverable, Run, RunSpec, is_legal_id, runs_root
from skills_runtime.skills import (
    ForkedSkills,
    ForkSupport,
    apply_template,
    build_prompt,
    check_program,
    compute_marks,
    select_tools,
    split_forked,
)
from skills_runtime.text import well_formed
from skills_runtime.tools import recognize_image

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.skills import HistoryRule, Library, MissingVariable, PromptParts

MAX_IMAGE_BYTES = 20 << 20
RUNNING = RunStateChanged(before=RunStatus.PENDING.value, after=RunStatus.RUNNING.value)
"""Last initial event of a run that is created and started at once."""


class RunInputs(msgspec.Struct, frozen=True):
    """Inputs of a run besides its task, read and validated before anything is created."""

    system_prompt: str
    events: tuple[Payload, ...]
    """Events that the log starts with."""
    blobs: tuple[bytes, ...]
    """Blobs that these events refer to."""


def without_secrets(request: RunRequest, secrets: Secrets) -> RunRequest:
    """Return the request without secrets, as it may be logged and sent to a model."""
    prompt, history = secrets.text(request.prompt), secrets.value(request.history)
    if prompt is request.prompt and history is request.history:
        return request
    return msgspec.structs.replace(request, prompt=prompt, history=tuple(history))


def collect_inputs(resolved: "Resolved", request: RunRequest, options: AgentOptions, secrets: Secrets) -> RunInputs:
    """Read and validate everything a request refers to; what the model receives is redacted."""
    names, library = [tool.spec.name for tool in options.tools], options.library or empty_library()
    parts = assemble_prompt(resolved, request.prompt, names, library, options.templates)
    if parts.missing_env:
        missing = ", ".join(f"`{variable.name}`" for variable in parts.missing_env)
        names_to_set = " ".join(f"{variable.name}=…" for variable in parts.missing_env)
        raise ConfigError(
            f"a skill needs environment variables that are not set: {missing}", hint=f"`export {names_to_set}`"
        )
    for active in parts.injected:
        if active.skill.mention.text in parts.mentioned:
            check_program(active.skill, enabled=resolved.settings.skills.actions.enabled)
    history = _newest_messages(request.history, parts.history)
    loaded = [HistoryLoaded(messages=history, runs=list(request.history_runs))] if history else []
    images = [_read_image(path) for path in request.images]
    image_entries = [{"name": name, "media_type": mime, "blob": _digest(data)} for name, mime, data in images]
    attached = [ImagesAttached(images=image_entries)] if image_entries else []
    # Split into the skills that this run works on and those that get a run of their own.
    split = ForkedSkills(inline=parts.injected)
    if parts.mentioned:
        possible = _can_fork_skills(resolved, options, request.prompt)
        split = split_forked(parts.injected, parts.mentioned, request.prompt, possible)
    texts = [secrets.text(skill.text).encode() for skill in split.inline]
    injected: list[Payload] = []
    for active, text in zip(split.inline, texts, strict=True):
        permitted = SkillPermissions(resolved)(active.skill, active.event)
        event = revoke_stale_preapproval(permitted, active.skill, options.initial_skills)
        injected.append(msgspec.structs.replace(event, text_blob=_digest(text)))
    payloads, marks = _with_marks(parts.events, library, options)
    events = (*loaded, *payloads, *parts.skipped, *split.skipped, *injected, *attached, *split.forked)
    return RunInputs(secrets.text(parts.system), events, (*texts, *(data for _, _, data in images), *marks))


def assemble_prompt(
    resolved: "Resolved",
    task: str,
    tool_names: Sequence[str],
    library: "Library | None" = None,
    templates: Mapping[str, str] | None = None,
) -> "PromptParts":
    """Assemble the system prompt and the other parts of the first request."""
    # Loads all of the settings code, which importing an agent must not.
    from skills_runtime.skills import load_library

    return build_prompt(
        with_workspace_texts(resolved, apply_template(resolved.settings.prompt, templates or {})),
        task=task,
        cwd=resolved.workspace_root,
        library=library or load_library(resolved),
        tool_names=tool_names,
        constraints=schema_instruction(resolved.settings.run.output_schema),
    )


def _with_marks(
    payloads: "Sequence[Payload]", library: "Library", options: AgentOptions
) -> tuple[list[Payload], list[bytes]]:
    """Add the digests of the offered skills to the catalog event, so that later only changes are reported."""
    if not any(isinstance(event, SkillCatalogOffered) for event in payloads):
        return list(payloads), []
    marks = strip_changed_marks(compute_marks(library).data, options.initial_skills)
    return [
        msgspec.structs.replace(event, skills_blob=_digest(marks)) if isinstance(event, SkillCatalogOffered) else event
        for event in payloads
    ], [marks]


def _can_fork_skills(resolved: "Resolved", options: AgentOptions, task: str) -> ForkSupport:
    """Return whether skills that a task mentions can get runs of their own if they ask for it.

    Only runs without a parent can: a sub-agent's run is such a run itself.
    """
    if options.depth or options.library is None:
        return ForkSupport()
    if options.children is not None:
        return ForkSupport(reason="the sub-agents of this agent are managed elsewhere")
    if options.profiles and "" not in options.profiles:
        return ForkSupport(reason="none of its sub-agent profiles is the default")
    names = select_tools(apply_template(resolved.settings.prompt, options.templates), task, [ACTIVATE])
    is_hidden = any(allowed is not None and ACTIVATE not in allowed for allowed in (names, options.allowed_tools))
    if is_hidden or options.tools.find(ACTIVATE) is not None:
        return ForkSupport(reason=f"the tool `{ACTIVATE}` is not offered")
    return ForkSupport(possible=True)


def _newest_messages(history: Sequence[Mapping[str, str]], rule: "HistoryRule") -> list[dict[str, str]]:
    """Validate all messages and return the newest that fit; never start with an answer whose question is cut off."""
    messages: list[dict[str, str]] = []
    for message in history:
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant") or not isinstance(content, str) or well_formed(content) != content:
            raise ValidationFailed("a message of the history needs a `role`, user or assistant, and `content` text")
        messages.append({"role": role, "content": content})
    newest: list[dict[str, str]] = []
    remaining = rule.max_chars
    for message in reversed(messages if rule.mode != "none" else []):
        remaining -= len(message["content"])
        if remaining < 0 or len(newest) == rule.max_messages:
            break
        newest.insert(0, message)
    while newest and newest[0]["role"] == "assistant":
        newest.pop(0)
    return newest


def _read_image(path: Path) -> tuple[str, str, bytes]:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_IMAGE_BYTES + 1)
    except OSError as error:
        raise ValidationFailed(f"the image `{path}` cannot be read: {error.strerror}") from error
    image = recognize_image(data)
    if image is None or len(data) > MAX_IMAGE_BYTES:
        raise ValidationFailed(f"`{path}` is not an image that a model can read", hint="use PNG, JPEG, GIF or WebP")
    return well_formed(path.name), image.mime, data


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def variable_events(variables: "Iterable[MissingVariable]", resolved: "Resolved") -> Iterator[Payload]:
    """Yield the events for variables that a user was asked for; they never contain the values."""
    policy = resolved.settings.skills.env_var_missing_policy
    for variable in variables:
        name, skill, path = variable.name, variable.skill_name, variable.skill_path
        yield EnvVarRequired(env_var=name, skill_name=skill, skill_path=path, policy=policy)
        yield EnvVarSet(env_var=name, skill_name=skill, skill_path=path)


def render_config(resolved: "Resolved", secrets: Secrets | None = None) -> str:
    """Return the settings as text for the archive of every run.

    Serializing them costs more than the rest of a small run, so callers do it once per agent.
    """
    from skills_runtime.config import snapshot

    settings = resolved.settings
    # Only prompts reach a model; other settings are checked when they are loaded.
    if secrets is not None:
        prompt = {name: secrets.value(value) for name, value in settings.prompt}
        settings = settings.model_copy(update={"prompt": settings.prompt.model_copy(update=prompt)})
    return snapshot(settings)


def run_spec(
    resolved: "Resolved",
    request: RunRequest,
    *,
    config_text: str | None = None,
    system_prompt: str | None = None,
    beginning: tuple[Payload, ...] = (),
    blobs: tuple[bytes, ...] = (),
) -> RunSpec:
    """Return the frozen specification of a run; missing arguments are derived from the settings."""
    settings, ids, path = resolved.settings, request.ids, request.sandbox_path
    run_id = request.run_id or (path.name if path is not None and is_legal_id(path.name) else ids.new("run"))
    home = runs_root(resolved.workspace_root) / run_id
    root = path.resolve() if path else home
    required = tuple(
        Deliverable(
            path=deliverable.path, media_type=deliverable.media_type or "", description=deliverable.description or ""
        )
        for deliverable in settings.deliverables.required
    )
    return RunSpec(
        run_id=run_id,
        session_id=request.session_id or ids.new("sess"),
        task_id=request.task_id or ids.new("task"),
        root=root,
        link=home if path and root != home.parent.resolve() / home.name else None,
        workspace_root=resolved.workspace_root,
        prompt=request.prompt,
        config_text=config_text if config_text is not None else render_config(resolved),
        system_prompt=system_prompt
        if system_prompt is not None
        else assemble_prompt(resolved, request.prompt, ()).system,
        profile_id=settings.profile_id,
        workspace_mode=settings.sandbox.workspace,
        delete=settings.sandbox.delete,
        isolation=settings.sandbox.default_policy,
        required_deliverables=required,
        earlier_tasks=request.earlier_tasks,
        max_wall_time_sec=settings.run.max_wall_time_sec,
        environment_keys=(settings.llm.api_key_env,),
        fork=request.fork,
        initial_events=beginning,
        blobs=blobs,
        parent_run_id=request.fork.run_id if request.fork else request.parent_run_id,
    )


async def start_run(run: Run, defaults: RunDefaults) -> None:
    """Record that work on the run starts or continues."""
    settings = defaults.resolved.settings
    resumed = bool(run.state.workspace_root)
    if run.state.status is not RunStatus.RUNNING:
        await run.change_async(RunStatus.RUNNING)
    await run.commit_async()  # makes a run that was created with `working` durable
    run.append(
        RunStarted(
            task=run.text("prompt.md"),
            workspace_root=str(defaults.resolved.workspace_root),
            config_summary=dict(defaults.summary),
            resume={
                "enabled": resumed,
                "strategy": settings.run.resume_strategy,
                "previous_events": run.log.next_seq,
            },
        )
    )
