"""Paths inside a run directory, and the validation of ids.

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
"""The maximum size of a file that describes the run: record, manifests, snapshots."""
MAX_BLOB_BYTES = 1 << 30
"""The maximum size of a transcript or a blob."""
LEGAL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
SPARE = "logs/spare"


class RunPaths(msgspec.Struct, frozen=True, dict=True):
    """The paths of one run directory, computed on first use."""

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
        """Files that commands created and that other programs would run or obey, until the user accepts them."""
        return self.logs / "quarantine"

    @cached_property
    def logs(self) -> Path:
        """The runtime's own side files: checkpoints, snapshots, bytes set aside."""
        return self.root / "logs"


@lru_cache(maxsize=64)
def runs_root(workspace_root: Path) -> Path:
    """Return the default directory for the runs of a workspace."""
    return workspace_root / STATE_DIRECTORY / "runs"


def is_legal_id(value: str) -> bool:
    """Return whether `value` may name a session, a task or a run."""
    return LEGAL_ID.match(value) is not None


def check_id(value: str, noun: str) -> str:
    """Return `value`; raise `ValidationFailed` when it is not a legal id."""
    if not is_legal_id(value):
        raise ValidationFailed(
            f"`{value[:80]}` is not a legal {noun} id",
            hint="use 1 to 128 letters, digits, `.`, `_` or `-`, beginning with a letter or digit",
        )
    return value


def spare_path(root: Path) -> str:
    """Return the path of the spare file of a run."""
    return f"{root}/{SPARE}"
