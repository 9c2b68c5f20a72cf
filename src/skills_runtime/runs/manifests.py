"""The two manifests of a run: its boundaries, and what it produced and consumed.

Pure: from values to data.
"""

import os
import sys
from typing import Any

import msgspec

from skills_runtime import __version__
from skills_runtime.events.payloads import Descriptor
from skills_runtime.projections import RunState
from skills_runtime.runs.layout import SNAPSHOTS
from skills_runtime.runs.spec import RunSpec

DIRECTORIES = (
    ("workspace", "workspace", "read-write"),
    ("deliverables", "deliverables", "read-write"),
    ("archive", "archive", "system"),
    ("logs", "logs", "system"),
)


def sandbox_manifest(spec: RunSpec, snapshots: list[Descriptor], *, created_at: str, root: str) -> dict[str, Any]:
    """The boundaries of the run, written once before it starts; `root` is where it is behind all links."""
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
        "snapshots": [_snapshot(one) for one in snapshots],
        "isolation": {"requested": spec.isolation, "effective": "none", "network": "deny"},
        "environment": {
            "platform": f"{sys.platform}-{system.release}-{system.machine}",
            "python": ".".join(map(str, sys.version_info[:3])),
            "version": __version__,
            "env_keys": sorted(spec.environment_keys),
        },
    }


def _snapshot(one: Descriptor) -> dict[str, Any]:
    role, media_type = SNAPSHOTS[one.name]
    return {"name": one.name, "role": role, "mediaType": media_type, "size": one.size, "digest": {"sha256": one.sha256}}


class Producer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who made a file."""

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
    """The manifest a run is born with."""
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
