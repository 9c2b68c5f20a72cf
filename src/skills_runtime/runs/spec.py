"""What a run starts from: frozen, complete, and free of files."""

from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.events import Payload
from skills_runtime.events.payloads import ForkPoint

WorkspaceMode = Literal["shared", "isolated"]
DeleteMode = Literal["disabled", "allow"]


class Deliverable(msgspec.Struct, frozen=True, kw_only=True):
    """A file the run must hand over, relative to `deliverables/`."""

    path: str
    media_type: str = ""
    description: str = ""

    @property
    def name(self) -> str:
        """Its path from the run directory, in one spelling."""
        parts = Path(self.path).parts
        return "/".join(("deliverables", *(parts[1:] if len(parts) > 1 and parts[0] == "deliverables" else parts)))


class SessionTask(msgspec.Struct, frozen=True):
    """A task of the session and its runs so far."""

    task_id: str
    runs: list[str]


class RunSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Everything `create_run` needs."""

    run_id: str
    session_id: str
    task_id: str
    root: Path
    workspace_root: Path
    prompt: str
    config_text: str
    system_prompt: str
    profile_id: str = "default_agent"
    workspace_mode: WorkspaceMode = "isolated"
    delete: DeleteMode = "disabled"
    isolation: str = "restricted"
    required_deliverables: tuple[Deliverable, ...] = ()
    earlier_tasks: tuple[SessionTask, ...] = ()
    session_title: str = ""
    max_wall_time_sec: int | None = None
    environment_keys: tuple[str, ...] = ()
    attempt: int = 1
    parent_run_id: str | None = None
    fork: ForkPoint | None = None
    beginning: tuple[Payload, ...] = ()
    """What the log holds right after the run's creation."""
    blobs: tuple[bytes, ...] = ()
    """What these events refer to."""
    link: Path | None = None
    """Where a symbolic link to the run goes when it does not live in the workspace's own place."""
