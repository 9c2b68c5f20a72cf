"""How work on a run begins: what it starts from is in the log before the model is asked anything."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from skills_runtime.agent.assemble import RunRequest
from skills_runtime.errors import ValidationFailed
from skills_runtime.events.payloads import HistoryLoaded, ImagesAttached, RunStarted
from skills_runtime.events.states import RunStatus
from skills_runtime.runs import Run
from skills_runtime.tools.images import recognise

IMAGE_BYTES = 20 << 20


class Material(msgspec.Struct, frozen=True):
    """What a run starts from besides its task, read and found good before anything is created."""

    history: list[dict[str, str]]
    history_runs: list[str]
    images: list[tuple[str, str, bytes]]


def gather(request: RunRequest) -> Material:
    """Read and check everything a request names."""
    history = [_spoken(one) for one in request.history]
    return Material(history, list(request.history_runs), [_image(path) for path in request.images])


def begin(run: Run, material: Material) -> None:
    """Record what a new run starts from."""
    if material.history:
        run.append(HistoryLoaded(messages=material.history, runs=material.history_runs))
    if material.images:
        images = [{"name": name, "media_type": mime, "blob": run.keep(data)} for name, mime, data in material.images]
        run.append(ImagesAttached(images=images))


async def start(run: Run, *, workspace_root: Path, summary: Mapping[str, object]) -> None:
    """Record that somebody works on the run, for the first time or again."""
    resumed = run.state.started_at is not None
    if run.state.status is not RunStatus.RUNNING:
        await run.change_async(RunStatus.RUNNING)
    task = run.state.task if resumed else (run.paths.root / "prompt.md").read_text(encoding="utf-8")
    run.append(
        RunStarted(
            task=task,
            workspace_root=str(workspace_root),
            config_summary=dict(summary),
            resume={"enabled": resumed, "strategy": "replay", "previous_events": run.log.next_seq},
        )
    )


def _spoken(message: Mapping[str, str]) -> dict[str, str]:
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant") or not isinstance(content, str):
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
    return path.name, picture.mime, data
