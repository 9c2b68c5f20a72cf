"""What a run produced and consumed, from two witnesses: the records of its tools and a look at the disk."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from skills_runtime.events.payloads import FileOperation
from skills_runtime.events.states import RunStatus
from skills_runtime.projections import FileRecord
from skills_runtime.runs.files import PathPolicy, RunFiles, Scan, ScannedFile, isolated_policy, scan, shared_policy
from skills_runtime.runs.files.media import media_type
from skills_runtime.runs.files.policy import OF_THE_RUNTIME
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log.lines import prefix_digest
from skills_runtime.runs.log.reader import open_for_reading
from skills_runtime.runs.manifests import Artifact, ArtifactManifest, Producer
from skills_runtime.runs.run import Run
from skills_runtime.runs.spec import DeleteMode, WorkspaceMode

ROLES = {"deliverables": "deliverable", "workspace": "workspace", "executions": "execution"}
_OWN = "executions/.runtime/"
"""Locks and keys, which only the runtime needs."""


def files_of(run: Run, workspace_root: Path, *, mode: WorkspaceMode, delete: DeleteMode) -> RunFiles:
    """The files the tools of a run may touch; each operation becomes an event."""
    root = run.paths.root
    policy = shared_policy(workspace_root, root) if mode == "shared" else _isolated(root)

    def record(operation: FileOperation) -> None:
        run.append(operation)

    return RunFiles(msgspec.structs.replace(policy, delete=delete), record)


def _isolated(root: Path) -> PathPolicy:
    """The whole run directory but for what only the runtime reads."""
    return msgspec.structs.replace(isolated_policy(root), private=OF_THE_RUNTIME)


def left_in(root: Path, places: Iterable[str] = tuple(ROLES)) -> Scan:
    """What a run has left for others in these of its directories."""
    found = scan(root, tuple(places))
    return msgspec.structs.replace(found, files=tuple(one for one in found.files if not one.path.startswith(_OWN)))


def final_manifest(run: Run, status: RunStatus) -> ArtifactManifest:
    """The manifest of a run that is about to end."""
    state, records = run.state, run.view.files
    bases = [f"{base}/" for base in (run.paths.root, state.workspace_root) if base]
    produced = {_relative(name, bases): record for name, record in records.produced.items()}
    consumed = {_relative(name, bases): record for name, record in records.consumed.items()}
    # In a shared workspace only `deliverables/` of the paths tools use means the run's own directory.
    inside = {"deliverables"} if state.workspace_mode == "shared" else ROLES.keys()
    known = {name: record for name, record in produced.items() if name.partition("/")[0] in inside}
    found = left_in(run.paths.root)
    present = {one.path for one in found.files}
    return ArtifactManifest(
        session_id=state.session_id,
        task_id=state.task_id,
        run_id=state.run_id,
        generated_at=run.ports.clock.now(),
        final=True,
        run_status=status.value,
        scan=_scan_summary(found),
        artifacts=[
            *(_produced(one, known, state.required_deliverables) for one in found.files),
            *(
                _recorded(name, produced[name], _role(name, produced[name]), "produced")
                for name in sorted(produced.keys() - known)
            ),
            *(_recorded(name, consumed[name], "input", "consumed") for name in sorted(consumed)),
        ],
        required_deliverables=[{"path": name, "present": name in present} for name in state.required_deliverables],
        removed=[
            {"name": _relative(name, bases), "last_digest": {"sha256": digest}}
            for name, digest in sorted(records.removed.items())
        ],
        logs=[_log_prefix(run)],
    )


def _relative(name: str, bases: Iterable[str]) -> str:
    """The path from the first of these directories that it is below; tools may use absolute paths."""
    return next((name.removeprefix(base) for base in bases if name.startswith(base)), name)


def _scan_summary(found: Scan) -> dict[str, object]:
    return {name: value for name, value in msgspec.to_builtins(found).items() if name != "files"}


def _produced(one: ScannedFile, records: Mapping[str, FileRecord], required: list[str]) -> Artifact:
    record = records.get(one.path)
    # A file that is not what a tool last wrote was changed by something that left no record.
    known = record is not None and record.sha256 == one.sha256
    producer = Producer(kind="tool", event_index=record.seq, call_id=record.call_id) if known and record else None
    return Artifact(
        name=one.path,
        role=ROLES[one.path.partition("/")[0]],
        direction="produced",
        required=one.path in required,
        media_type=one.media_type,
        size=one.size,
        digest={"sha256": one.sha256},
        producer=producer or Producer(kind="out_of_band"),
        annotations={"escaped": "percent"} if one.escaped else {},
    )


def _role(name: str, record: FileRecord) -> str:
    """What a file outside the scanned directories is: one that no call wrote is the runtime's own."""
    return "summary" if record.call_id is None and name.startswith("archive/") else "workspace"


def _recorded(name: str, record: FileRecord, role: str, direction: str) -> Artifact:
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
    """The digest of the first `size` bytes of a run's log."""
    with open_for_reading(paths) as fd:
        return prefix_digest(fd, size)
