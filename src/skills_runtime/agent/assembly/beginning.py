"""How work on a run begins: what it starts from is in the log before the model is asked anything."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.agent.assembly.offering import own_runs
from skills_runtime.agent.assembly.spec import prompt_parts
from skills_runtime.agent.equipment import Equipment, RunRequest
from skills_runtime.agent.skills.seen import no_skills
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
from skills_runtime.events.text import well_formed
from skills_runtime.ports import Secrets
from skills_runtime.runs import Run
from skills_runtime.tools.images import recognise

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.skills import HistoryRule, Injected, Library, MissingVariable, PromptParts
    from skills_runtime.skills.own_runs import Apart

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


def gather(resolved: "Resolved", request: RunRequest, equipment: Equipment, secrets: Secrets) -> Material:
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
    told: "Sequence[Payload]", library: "Library", equipment: Equipment
) -> tuple[list[Payload], list[bytes]]:
    """The events, the one of a list with what the model knows by it: later it is told only what is different."""
    if not any(isinstance(one, SkillCatalogOffered) for one in told):
        return list(told), []
    from skills_runtime.agent.skills.first import only_first
    from skills_runtime.skills.catalog.marks import marks_in

    marks = only_first(marks_in(library).data, equipment.first_skills)
    return [
        msgspec.structs.replace(one, skills_blob=_digest(marks)) if isinstance(one, SkillCatalogOffered) else one
        for one in told
    ], [marks]


def _apart(parts: "PromptParts", task: str, resolved: "Resolved", equipment: Equipment) -> "Apart":
    """Which of the skills are worked on in the run, and which by runs of their own."""
    from skills_runtime.skills.own_runs import Apart, set_apart

    if not parts.named:
        return Apart(here=parts.injected)
    return set_apart(parts.injected, parts.named, task, own_runs(resolved, equipment, task))


def _permitted(skills: "Sequence[Injected]", resolved: "Resolved", equipment: Equipment) -> list[SkillInjected]:
    """The events of the skills that a run begins with, each with what it permits."""
    if not skills:
        return []
    from skills_runtime.agent.skills.first import as_first
    from skills_runtime.agent.skills.permits import SkillPermits

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
