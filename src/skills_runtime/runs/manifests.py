"""The two manifests of a run: its boundaries, and what it produced and consumed.

The artifact manifest combines the recorded file operations with a scan of the disk.
"""

import hashlib
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime import __version__
from skills_runtime.events import Descriptor, FileOperation, RunStatus
from skills_runtime.projections import FileRecord, RunState
from skills_runtime.runs.files import RunFiles, Scan, ScannedFile, isolated_policy, scan, shared_policy
from skills_runtime.runs.files.paths import RUNTIME_PATHS
from skills_runtime.runs.layout import SNAPSHOTS, RunPaths
from skills_runtime.runs.log.chain import prefix_digest
from skills_runtime.runs.log.reader import open_for_reading
from skills_runtime.runs.run import Run
from skills_runtime.runs.spec import DeleteMode, RunSpec, WorkspaceMode
from skills_runtime.storage import media_type, wrap_write_errors, write_atomic

DIRECTORIES = (
    ("workspace", "workspace", "read-write"),
    ("deliverables", "deliverables", "read-write"),
    ("archive", "archive", "system"),
    ("logs", "logs", "system"),
)
ROLES = {"deliverables": "deliverable", "workspace": "workspace", "executions": "execution"}
_RUNTIME_FILES = "executions/.runtime/"
"""Locks and keys of the runtime, which are not outputs."""


def sandbox_manifest(spec: RunSpec, snapshots: list[Descriptor], *, created_at: str, root: str) -> dict[str, Any]:
    """Build the sandbox manifest, written once before the run starts; `root` is its resolved path."""
    shared, system = spec.workspace_mode == "shared", os.uname()
    return {
        "schema": "kgent.sandbox-manifest/v1",
        "session_id": spec.session_id,
        "task_id": spec.task_id,
        "run_id": spec.run_id,
        "created_at": created_at,
        "sandbox": {
            "kind": "local-filesystem",
            "root": ".",
            "root_realpath": root,
            "workspace_mode": spec.workspace_mode,
            "binds": [{"path": str(spec.workspace_root), "access": "read-write"}] if shared else [],
        },
        "directories": [{"path": path, "role": role, "access": access} for path, role, access in DIRECTORIES],
        "path_policy": {
            "base": "workspace-root" if shared else "sandbox-root",
            "deny_absolute_outside": True,
            "deny_parent_segments": True,
            "symlinks": "inside-only",
            "read_roots": ["."],
            "write_roots": [".", "deliverables"] if shared else ["workspace", "deliverables"],
            "delete": spec.delete,
            "max_path_bytes": 4096,
            "max_file_bytes": 104857600,
        },
        "snapshots": [
            {
                "name": snapshot.name,
                "role": SNAPSHOTS[snapshot.name][0],
                "mediaType": SNAPSHOTS[snapshot.name][1],
                "size": snapshot.size,
                "digest": {"sha256": snapshot.sha256},
            }
            for snapshot in snapshots
        ],
        "isolation": {"requested": spec.isolation, "effective": "none", "network": "deny"},
        "environment": {
            "platform": f"{sys.platform}-{system.release}-{system.machine}",
            "python": ".".join(map(str, sys.version_info[:3])),
            "version": __version__,
            "env_keys": sorted(spec.environment_keys),
        },
    }


class Producer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The origin of a file."""

    kind: str
    event_index: int | None = None
    call_id: str | None = None
    execution_id: str | None = None


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """One file the run produced or consumed."""

    name: str
    role: str
    direction: str
    required: bool
    media_type: str = msgspec.field(name="mediaType")
    size: int
    digest: dict[str, str]
    producer: Producer | None = None
    annotations: dict[str, str] = {}


class ArtifactManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What artifact-manifest.json holds."""

    schema: str = "kgent.artifact-manifest/v1"
    session_id: str
    task_id: str
    run_id: str
    generated_at: str
    final: bool
    run_status: str
    scan: dict[str, Any]
    artifacts: list[Artifact]
    required_deliverables: list[dict[str, Any]]
    removed: list[dict[str, Any]] = []
    logs: list[dict[str, Any]] = []


def empty_manifest(state: RunState, *, generated_at: str) -> ArtifactManifest:
    """Build the artifact manifest of a new run."""
    return ArtifactManifest(
        session_id=state.session_id,
        task_id=state.task_id,
        run_id=state.run_id,
        generated_at=generated_at,
        final=False,
        run_status=state.status.value,
        scan={},
        artifacts=[],
        required_deliverables=[{"path": name, "present": False} for name in state.required_deliverables],
    )


def files_of(
    run: Run, workspace_root: Path, *, mode: WorkspaceMode, delete: DeleteMode, read_only: Iterable[Path] = ()
) -> RunFiles:
    """Open the files of a run for its tools; each operation is recorded as an event."""
    root = run.paths.root
    if mode == "shared":
        policy = shared_policy(workspace_root, root, read_only)
    else:  # the whole run directory except the files of the runtime
        policy = msgspec.structs.replace(isolated_policy(root), private=RUNTIME_PATHS)

    def record(operation: FileOperation) -> None:
        run.append(operation)

    return RunFiles(msgspec.structs.replace(policy, delete=delete), record)


def scan_outputs(root: Path, directories: Iterable[str] = tuple(ROLES)) -> Scan:
    """Scan the output directories of a run."""
    result = scan(root, tuple(directories))
    return msgspec.structs.replace(
        result, files=tuple(file for file in result.files if not file.path.startswith(_RUNTIME_FILES))
    )


def final_manifest(run: Run, status: RunStatus) -> ArtifactManifest:
    """Build the artifact manifest of a finishing run."""
    state, records = run.state, run.view.files
    bases = [f"{base}/" for base in (run.paths.root, state.workspace_root) if base]
    produced = {_relative(name, bases): record for name, record in records.produced.items()}
    consumed = {_relative(name, bases): record for name, record in records.consumed.items()}
    # In a shared workspace only `deliverables/` of the paths tools use means the run's own directory.
    inside = {"deliverables"} if state.workspace_mode == "shared" else ROLES.keys()
    scanned_records = {name: record for name, record in produced.items() if name.partition("/")[0] in inside}
    outputs = scan_outputs(run.paths.root)
    present = {file.path for file in outputs.files}
    return ArtifactManifest(
        session_id=state.session_id,
        task_id=state.task_id,
        run_id=state.run_id,
        generated_at=run.ports.clock.now(),
        final=True,
        run_status=status.value,
        scan={name: value for name, value in msgspec.to_builtins(outputs).items() if name != "files"},
        artifacts=[
            *(_produced_artifact(file, scanned_records, state.required_deliverables) for file in outputs.files),
            *(
                _recorded_artifact(name, produced[name], _role(name, produced[name]), "produced")
                for name in sorted(produced.keys() - scanned_records)
            ),
            *(_recorded_artifact(name, consumed[name], "input", "consumed") for name in sorted(consumed)),
        ],
        required_deliverables=[{"path": name, "present": name in present} for name in state.required_deliverables],
        removed=[
            {"name": _relative(name, bases), "last_digest": {"sha256": digest}}
            for name, digest in sorted(records.removed.items())
        ],
        logs=[_log_prefix(run)],
    )


def _relative(name: str, bases: Iterable[str]) -> str:
    """Make an absolute path relative to the first directory that contains it."""
    return next((name.removeprefix(base) for base in bases if name.startswith(base)), name)


def _produced_artifact(file: ScannedFile, records: Mapping[str, FileRecord], required: list[str]) -> Artifact:
    record = records.get(file.path)
    # A file that is not what a tool last wrote was changed by something that left no record.
    is_unchanged = record is not None and record.sha256 == file.sha256
    producer = (
        Producer(kind="tool", event_index=record.seq, call_id=record.call_id) if is_unchanged and record else None
    )
    return Artifact(
        name=file.path,
        role=ROLES[file.path.partition("/")[0]],
        direction="produced",
        required=file.path in required,
        media_type=file.media_type,
        size=file.size,
        digest={"sha256": file.sha256},
        producer=producer or Producer(kind="out_of_band"),
        annotations={"escaped": "percent"} if file.escaped else {},
    )


def _role(name: str, record: FileRecord) -> str:
    """Return the role of a file outside the scanned directories; the runtime writes without a call id."""
    return "summary" if record.call_id is None and name.startswith("archive/") else "workspace"


def _recorded_artifact(name: str, record: FileRecord, role: str, direction: str) -> Artifact:
    return Artifact(
        name=name,
        role=role,
        direction=direction,
        required=False,
        media_type=media_type(name),
        size=record.size,
        digest={"sha256": record.sha256},
        producer=Producer(kind="tool", event_index=record.seq, call_id=record.call_id),
    )


def _log_prefix(run: Run) -> dict[str, object]:
    position = run.log.position
    return {
        "name": "events.jsonl",
        "size": position.offset,
        "lines": position.seq,
        "digest": {"sha256": run.log.digest(position.offset)},
    }


def log_prefix_digest(paths: RunPaths, size: int) -> str:
    """Return the digest of the first `size` bytes of a run's log."""
    with open_for_reading(paths) as fd:
        return prefix_digest(fd, size)


def write_artifact(run: Run, name: str, data: bytes) -> None:
    """Write a file below the run directory, durable with the next commit, and record it."""
    path = run.paths.root / name
    with wrap_write_errors(path):
        write_atomic(path, data, durable=False)
    run.log.with_next_commit(path.parent, path.name)
    run.append(FileOperation(op="write", path=name, ok=True, size=len(data), sha256=hashlib.sha256(data).hexdigest()))
