"""One trial: a run in a directory of its own, with the skill or without it; a trial that was begun goes on."""

import asyncio
import dataclasses
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from skills_runtime.agent import Agent, RunRequest
from skills_runtime.agent.loop.control import Control
from skills_runtime.agent.options import AgentOptions
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.clock import RandomIds
from skills_runtime.errors import MODEL_KINDS, StorageFailed, ValidationFailed
from skills_runtime.events.states import RunStatus
from skills_runtime.ports import Backend
from skills_runtime.projections import RunState
from skills_runtime.runs import RunPaths, read_view
from skills_runtime.skills import FilesystemSource, Library, Origin
from skills_runtime.storage.nofollow import open_directory, read_below
from skills_runtime.tools import Registry, builtin_tools

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

Variant = Literal["with_skill", "without_skill"]
NAMESPACE, BESIDE = "eval", "beside"
"""The skill that is evaluated, and all others."""
MAX_FILE_BYTES = 256 << 20
BROKEN = frozenset({*MODEL_KINDS, "config_error", "missing_env_var", "sandbox_denied", "storage_error"})
"""Ends that say nothing about the skill: such a trial is not counted, and tried again the next time."""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run."""

    run: str
    """The directory of the run."""
    status: str
    answer: str
    seconds: float
    input_tokens: int
    output_tokens: int
    cost_usd: float
    error: str = ""
    """Why it does not count, if it does not."""

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.input_tokens + self.output_tokens


class Bench(msgspec.Struct, frozen=True):
    """What all runs of an evaluation are made with."""

    resolved: "Resolved"
    backend: Backend
    skill: Path
    others: Path | None = None
    """Where the other skills are that queries are tried among."""

    def library(self, variant: Variant) -> Library:
        """The skills that the trial of a case can see: the one that is evaluated, or none."""
        return self._library(self._own(variant))

    def catalog(self, variant: Variant) -> Library:
        """The skills that the trial of a query can see: all others, and the one that is evaluated or not."""
        if self.others is None or not self.others.is_dir():
            return self.library(variant)
        return self._library([*self._own(variant), FilesystemSource(Origin("eval", BESIDE, "others"), self.others)])

    def _own(self, variant: Variant) -> list[FilesystemSource]:
        origin = Origin("eval", NAMESPACE, "skill")
        return [FilesystemSource(origin, self.skill)] if variant == "with_skill" else []

    def _library(self, sources: Sequence[FilesystemSource]) -> Library:
        return Library(sources, environment=self.resolved.environment.process)

    def agent(self, outputs: Path, library: Library, run: Mapping[str, Any], *, tools: bool = True) -> Agent:
        """An agent that works in a directory; `run` are settings of the section of that name."""
        settings = self.resolved.settings
        changed = settings.model_copy(
            update={
                "run": settings.run.model_copy(update=dict(run)),
                "sandbox": settings.sandbox.model_copy(update={"workspace": "shared"}),
            }
        )
        resolved = dataclasses.replace(self.resolved, settings=changed, workspace_root=outputs)
        registry = builtin_tools() if tools else Registry()
        return Agent.from_resolved(resolved, AgentOptions(tools=registry, backend=self.backend, library=library))


async def work(agent: Agent, prompt: str, place: Path) -> Ended:
    """Create the run at a place, or go on with it, until it ends; who is cancelled leaves it to be gone on with."""
    root = place / "run"
    if not root.exists():
        request = RunRequest(prompt=prompt, sandbox_path=root, run_id=RandomIds().new("run"))
        run = agent.create(request)
    elif not read_state(root).open:
        return ended(root)
    else:
        run = agent.resume(root)
    control = Control()
    working = asyncio.create_task(agent.execute(run, control=control))
    try:
        await asyncio.shield(working)
    except asyncio.CancelledError:
        control.stopping = True
        working.cancel()
        await asyncio.wait([working])
        raise
    return ended(root)


def read_state(root: Path) -> RunState:
    """The run as its log tells it."""
    return read_view(RunPaths(root), log_ports()).state


def ended(root: Path) -> Ended:
    """How a run ended; one that waits for somebody did not end well, for nobody is there."""
    state = read_state(root)
    kind = state.error_kind or state.waiting_kind or ""
    why = state.failure_reason or state.waiting_message
    broken = kind in BROKEN or (state.open and state.status is not RunStatus.RUNNING)
    return Ended(
        run=str(root),
        status=state.status.value,
        answer=state.final_output,
        seconds=round(state.worked_sec, 3),
        input_tokens=state.input_tokens,
        output_tokens=state.output_tokens,
        cost_usd=state.cost_usd,
        error=f"{kind or state.status.value}: {why}".strip(": ") if broken else "",
    )


def prepare(outputs: Path, files: Path, names: tuple[str, ...]) -> list[str]:
    """An empty working directory with the files of a case; returns what they are called there."""
    shutil.rmtree(outputs, ignore_errors=True)
    outputs.mkdir(parents=True)
    placed: list[str] = []
    for name in names:
        parts = tuple(name.split("/"))
        target = parts[-1] if parts[-1] not in placed else "-".join(parts)
        try:
            with open_directory(files.resolve()) as top:
                data = read_below(top, parts, limit=MAX_FILE_BYTES + 1)
        except OSError as error:
            raise ValidationFailed(f"the file `{name}` of an eval cannot be used: {error.strerror}") from error
        if len(data) > MAX_FILE_BYTES:
            raise ValidationFailed(f"the file `{name}` of an eval is larger than {MAX_FILE_BYTES} bytes")
        try:
            (outputs / target).write_bytes(data)
        except OSError as error:
            raise StorageFailed(f"`{outputs / target}` could not be written: {error.strerror}") from error
        placed.append(target)
    return placed


async def close_backend(backend: Backend) -> None:
    """Take the model's connections down with the event loop they live on."""
    close: Callable[[], Awaitable[None]] | None = getattr(backend, "aclose", None)
    if close is not None:
        await close()
