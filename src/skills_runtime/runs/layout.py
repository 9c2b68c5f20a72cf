"""Where everything in a run directory is, and which ids may name one.

Pure: names and paths only, no file is touched here. One rule holds for the ids of sessions, tasks and runs, because ids
become file names.
"""

import re
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec

from skills_runtime.errors import ValidationFailed

STATE_DIRECTORY = ".skills_runtime_sdk"
DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
SNAPSHOT_MODE = 0o400

SUBDIRECTORIES = ("workspace", "deliverables", "archive", "logs", "blobs", "executions")
SNAPSHOTS = {
    "prompt.md": ("prompt", "text/markdown"),
    "config.yaml": ("config", "application/yaml"),
    "effective-system-prompt.md": ("system-prompt", "text/markdown"),
    "task.yaml": ("task", "application/yaml"),
    "session.json": ("session", "application/json"),
}
"""Files that never change once the run exists: name to (role, media type)."""
MAX_TEXT_BYTES = 64 << 20
"""How long a file may be that describes the run: its record, its manifests, its snapshots."""
MAX_BLOB_BYTES = 1 << 30
"""How long a file may be that holds what the run said: its transcript, a blob."""
LEGAL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
SPARE = "logs/spare"


class RunPaths(msgspec.Struct, frozen=True, dict=True):
    """The paths of one run directory, each made when it is first asked for."""

    root: Path

    @cached_property
    def run_json(self) -> Path:
        """State of the run, rewritten atomically."""
        return self.root / "run.json"

    @cached_property
    def events(self) -> Path:
        """The log."""
        return self.root / "events.jsonl"

    @cached_property
    def transcript(self) -> Path:
        """The log as prose."""
        return self.root / "transcript.md"

    @cached_property
    def sandbox_manifest(self) -> Path:
        """The boundaries, written once."""
        return self.root / "sandbox-manifest.json"

    @cached_property
    def artifact_manifest(self) -> Path:
        """What was produced and consumed."""
        return self.root / "artifact-manifest.json"

    @cached_property
    def lock(self) -> Path:
        """Held by the one writer."""
        return self.root / "run.lock"

    @cached_property
    def blobs(self) -> Path:
        """Private content-addressed bytes."""
        return self.root / "blobs"

    @cached_property
    def deliverables(self) -> Path:
        """What the run hands over."""
        return self.root / "deliverables"

    @cached_property
    def workspace(self) -> Path:
        """The run's own working tree, when it is isolated."""
        return self.root / "workspace"

    @cached_property
    def archive(self) -> Path:
        """Exports."""
        return self.root / "archive"

    @cached_property
    def quarantine(self) -> Path:
        """What commands made and programs outside would obey, until the user accepts it."""
        return self.logs / "quarantine"

    @cached_property
    def logs(self) -> Path:
        """The runtime's own side files: checkpoints, snapshots, bytes set aside."""
        return self.root / "logs"


@lru_cache(maxsize=64)
def runs_root(workspace_root: Path) -> Path:
    """Where runs of a workspace live unless the caller says otherwise."""
    return workspace_root / STATE_DIRECTORY / "runs"


def is_legal_id(value: str) -> bool:
    """Whether `value` may name a session, a task or a run."""
    return LEGAL_ID.match(value) is not None


def check_id(value: str, noun: str) -> str:
    """Return `value`, or refuse it by name."""
    if not is_legal_id(value):
        raise ValidationFailed(
            f"`{value[:80]}` is not a legal {noun} id",
            hint="use 1 to 128 letters, digits, `.`, `_` or `-`, beginning with a letter or digit",
        )
    return value


def spare_path(root: Path) -> str:
    """Where the spare file of a run is."""
    return f"{root}/{SPARE}"
