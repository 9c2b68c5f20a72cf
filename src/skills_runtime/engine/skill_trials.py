"""The runs of a skill evaluation, each in its own directory; an interrupted run is resumed."""

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skills_runtime.agent import Agent, AgentOptions, RunRequest, log_ports
from skills_runtime.clock import RandomIds
from skills_runtime.engine.dispatcher import OpenedRun, dispatch_run
from skills_runtime.errors import MODEL_KINDS, StorageFailed
from skills_runtime.events import Event, RunStatus
from skills_runtime.ports import Backend
from skills_runtime.projections import RunState
from skills_runtime.runs import RunPaths, read_events, read_view
from skills_runtime.skills import Library
from skills_runtime.skills.evals import TrialRun
from skills_runtime.tools import Registry, builtin_tools

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

INFRASTRUCTURE_KINDS = frozenset({*MODEL_KINDS, "config_error", "missing_env_var", "sandbox_denied", "storage_error"})
"""Failures that say nothing about the skill: such a trial is not counted, and repeated the next time."""


class AgentTrials(msgspec.Struct, frozen=True):
    """Runs the trials of an evaluation with agents under the same settings."""

    resolved: "Resolved"
    backend: Backend

    async def run(
        self, prompt: str, path: Path, library: Library, *, settings: Mapping[str, Any], tools: bool = True
    ) -> TrialRun:
        """Create the run at a path, or resume it, until it ends; a cancelled caller can resume it later."""
        agent = self._agent(path / "outputs", library, settings, tools=tools)
        root = path / "run"
        if not root.exists():
            agent.create(RunRequest(prompt=prompt, sandbox_path=root, run_id=RandomIds().new("run"))).close()
        state = read_state(root)
        if state.open:
            error = await dispatch_run(state.run_id, lambda: OpenedRun(agent.resume(root), agent))
            if error is not None and not isinstance(error, StorageFailed):  # of which the outcome tells
                raise error
        return read_outcome(root)

    def events(self, path: Path) -> Sequence[Event]:
        """Return the events of the run at a path."""
        return list(read_events(RunPaths(path / "run")))

    def _agent(self, outputs: Path, library: Library, run: Mapping[str, Any], *, tools: bool) -> Agent:
        settings = self.resolved.settings
        updated = settings.model_copy(
            update={
                "run": settings.run.model_copy(update=dict(run)),
                "sandbox": settings.sandbox.model_copy(update={"workspace": "shared"}),
            }
        )
        resolved = dataclasses.replace(self.resolved, settings=updated, workspace_root=outputs)
        registry = builtin_tools() if tools else Registry()
        return Agent.from_resolved(resolved, AgentOptions(tools=registry, backend=self.backend, library=library))


def read_state(root: Path) -> RunState:
    """Read the state of a run from its log."""
    return read_view(RunPaths(root), log_ports()).state


def read_outcome(root: Path) -> TrialRun:
    """Return the outcome of a run; one that waits for input has failed, since there is no user."""
    state = read_state(root)
    kind = state.error_kind or state.waiting_kind or ""
    reason = state.failure_reason or state.waiting_message
    broken = kind in INFRASTRUCTURE_KINDS or (state.open and state.status is not RunStatus.RUNNING)
    return TrialRun(
        run=str(root),
        status=state.status.value,
        answer=state.final_output,
        seconds=round(state.worked_sec, 3),
        input_tokens=state.input_tokens,
        output_tokens=state.output_tokens,
        cost_usd=state.cost_usd,
        error=f"{kind or state.status.value}: {reason}".strip(": ") if broken else "",
    )


async def close_backend(backend: Backend) -> None:
    """Close the model's connections on the event loop they belong to."""
    close: Callable[[], Awaitable[None]] | None = getattr(backend, "aclose", None)
    if close is not None:
        await close()
