"""What a run's file tools may touch, as one frozen value."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.runs.layout import DIRECTORY_MODE, FILE_MODE, STATE_DIRECTORY, RunPaths, runs_root

DeleteRule = Literal["disabled", "allow"]
HardLinkRule = Literal["refuse", "allow"]

DELIVERABLES = "deliverables"
OF_THE_RUNTIME = (
    "blobs", "run.lock", "logs", "events.jsonl", "run.json", "config.yaml", "session.json", "sandbox-manifest.json",
    "artifact-manifest.json", "transcript.md", "archive", "executions",
)  # fmt: skip
"""What of a run directory no tool of the run reads: its log, its state and its settings."""
SHARED_FILE_MODE = 0o644
SHARED_DIRECTORY_MODE = 0o755


class PathPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Where paths begin, what may be written below, and the limits."""

    base: Path
    """The directory relative paths begin at; real, without symbolic links."""
    write_roots: tuple[str, ...]
    """The places below `base` that may be written; `.` is all of it."""
    trash: Path
    """Where deleted files go."""
    mounts: Mapping[str, Path] = {}
    """First components of relative paths that mean another real directory, which may be written."""
    aliases: Mapping[Path, Path] = {}
    """Other spellings of the directories above, for absolute paths, to their real ones."""
    private: tuple[str, ...] = ()
    """The places below `base` that may not even be read."""
    private_names: frozenset[str] = frozenset()
    """Names that make everything below them private, at any depth."""
    delete: DeleteRule = "disabled"
    hard_links: HardLinkRule = "refuse"
    """Whether a file that has a second name somewhere may be read."""
    max_path_bytes: int = 4096
    max_file_bytes: int = 104_857_600
    file_mode: int = FILE_MODE
    directory_mode: int = DIRECTORY_MODE

    def root(self, mount: str) -> Path:
        """The directory behind a mount; the empty name is the base."""
        return self.mounts[mount] if mount else self.base


def isolated_policy(run_root: Path) -> PathPolicy:
    """The run directory is the whole world; only `workspace/` and `deliverables/` may be written."""
    real = _real(run_root)
    paths = RunPaths(real)
    return PathPolicy(
        base=real,
        write_roots=(paths.workspace.name, paths.deliverables.name),
        trash=paths.logs / "trash",
        aliases=_alias(run_root, real),
        private=(paths.blobs.name, paths.lock.name, paths.logs.name),
    )


def shared_policy(workspace_root: Path, run_root: Path) -> PathPolicy:
    """The user's own tree is the world, and `deliverables/` means the run's."""
    base, run = _real(workspace_root), _real(run_root)
    if run == base:
        raise ValidationFailed(
            f"the run directory `{run}` is the workspace itself, so its log could be written by tools",
            hint="put the run into a directory of its own",
        )
    paths, runs = RunPaths(run), (run, *_linked_runs(base))
    return PathPolicy(
        base=base,
        write_roots=(".",),
        trash=paths.logs / "trash",
        mounts={DELIVERABLES: paths.deliverables},
        aliases=_alias(workspace_root, base) | _alias(run_root, run),
        private=tuple(one.relative_to(base).as_posix() for one in runs if one.is_relative_to(base)),
        private_names=frozenset({STATE_DIRECTORY}),
        hard_links="allow",
        file_mode=SHARED_FILE_MODE,
        directory_mode=SHARED_DIRECTORY_MODE,
    )


def _linked_runs(base: Path) -> list[Path]:
    """Where the runs of this workspace really are that were put somewhere else."""
    try:
        with os.scandir(runs_root(base)) as entries:
            return [Path(entry.path).resolve() for entry in entries if entry.is_symlink()]
    except OSError:
        return []


def _real(path: Path) -> Path:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise NotFound(f"the directory `{path}` cannot be found", hint="create it first") from error


def _alias(given: Path, real: Path) -> dict[Path, Path]:
    spelled = given.absolute()
    return {} if spelled == real else {spelled: real}
