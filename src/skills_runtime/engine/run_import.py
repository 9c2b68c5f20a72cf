"""Import a run exported elsewhere: unpack it aside, verify it, and publish it only when it is complete.

Nothing in it is executed or trusted: its settings do not apply here.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.clock import SystemClock
from skills_runtime.engine.run_index import read_row
from skills_runtime.engine.run_requests import RESERVED_RUN_IDS
from skills_runtime.engine.run_service import RunService
from skills_runtime.errors import IllegalTransition, LogError, NotFound, RunExists, StorageFailed, ValidationFailed
from skills_runtime.ledger import RunRow
from skills_runtime.projections import RunState, RunView, fold
from skills_runtime.runs import (
    DIRECTORY_MODE,
    FILE_MODE,
    IMPORTED,
    SUBDIRECTORIES,
    ArtifactManifest,
    LogPorts,
    RunPaths,
    Verdict,
    is_legal_id,
    page_of,
    pretty,
    publish_run,
    read_events,
    read_view,
    runs_root,
    stage_run,
    verify_run,
)
from skills_runtime.skills import ArchiveLimits, unpack
from skills_runtime.storage import open_directory, relative_parts, walk

HINT = "send a run as it was exported"
MAX_NUMBER = 2**53
"""The largest integer that a browser can represent exactly."""
MAX_ARCHIVE_BYTES = 64 << 20
LIMITS = ArchiveLimits(
    archive_bytes=MAX_ARCHIVE_BYTES, members=20_000, file_bytes=256 << 20, total_bytes=512 << 20, ratio=500
)
LOG = "events.jsonl"
Render = Callable[[RunRow, RunView], object]


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """The imported run."""

    run_id: str
    status: str
    authentic: bool
    events: int
    findings: list[dict[str, Any]]


def import_run(runs: RunService, archive: Path, *, imported_by: str, render: Render) -> Imported:
    """Import an archive of an ended run; an existing run is never changed.

    A run that `render` cannot show is refused: it would break the list of runs.
    """
    path = runs_root(runs.workspace.workspace_root)
    with tempfile.TemporaryDirectory(prefix="skills-runtime-import-") as temporary:
        source = _unpack(Path(temporary), archive)
        with _readable():
            state = _state(source)
            _check_references(RunPaths(source), state)
        _refuse_existing(runs, state.run_id)
        with stage_run(path / state.run_id) as draft:
            staged = Path(draft.path)
            shutil.copytree(source, staged, dirs_exist_ok=True, copy_function=shutil.copyfile)
            _normalize(staged)
            with _readable():
                verdict = _verify(staged, runs, state)
                _check_readable(RunPaths(staged), runs.ports, render)
            marker = {"imported_at": SystemClock().now(), "imported_by": imported_by}
            (staged / "archive" / IMPORTED).write_bytes(pretty(marker))
            publish_run(draft, path / state.run_id)
    runs.record(RunPaths(path / state.run_id))
    return Imported(
        run_id=state.run_id,
        status=state.status.value,
        authentic=verdict.authentic,
        events=verdict.events,
        findings=msgspec.to_builtins(verdict.findings),
    )


@contextmanager
def _readable() -> Generator[None]:
    """Report any failure while reading foreign files as a problem of the archive, not of the service."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError, OSError) as error:
        raise _unreadable_error() from error
    except (msgspec.MsgspecError, LogError) as error:
        raise _unreadable_error() from error


def _unreadable_error() -> ValidationFailed:
    return ValidationFailed("the archive holds no run that can be read", hint="send a run as it was exported")


def _unpack(path: Path, archive: Path) -> Path:
    """Unpack an archive and return the run directory: its root, or its only directory."""
    target = path / "run"
    try:
        unpack(archive, target, LIMITS)
    except ValidationFailed as error:
        raise ValidationFailed(
            error.message.replace("a skill", "a run"), hint="send a zip or a tar.gz of a run, as it was exported"
        ) from error
    except OSError as error:
        raise StorageFailed(f"the archive could not be unpacked: {error.strerror}") from error
    names = [entry for entry in target.iterdir() if entry.name not in ("__MACOSX", ".DS_Store")]
    source = names[0] if len(names) == 1 and names[0].is_dir() else target
    if not (source / LOG).is_file():
        raise ValidationFailed(
            f"the archive holds no run: there is no `{LOG}` in it", hint="send a run as it was exported"
        )
    return source


def _state(source: Path) -> RunState:
    try:
        state = fold(read_events(RunPaths(source)), RunState())
    except LogError as error:
        raise ValidationFailed(f"the log of the run cannot be read: {error.message}") from error
    if not is_legal_id(state.run_id) or state.run_id in RESERVED_RUN_IDS:
        raise ValidationFailed("the log does not say which run it is", hint="send a run as it was exported")
    if state.open:
        raise IllegalTransition(
            f"the run `{state.run_id}` is still `{state.status}`",
            hint="export it when it has ended",
            status=state.status,
        )
    return state


def _refuse_existing(runs: RunService, run_id: str) -> None:
    if os.path.lexists(runs_root(runs.workspace.workspace_root) / run_id):
        raise RunExists(f"there is a run `{run_id}` in this workspace already", run_id=run_id)
    try:
        runs.ledger.index.get(run_id)
    except NotFound:
        return
    message = f"there is a run `{run_id}` on this machine already"
    raise RunExists(message, hint="it belongs to another workspace", run_id=run_id)


def _normalize(root: Path) -> None:
    """Set the modes of a run directory, and create empty directories that the archive omits."""
    if (root / "archive" / IMPORTED).is_dir() or any((root / name).is_file() for name in SUBDIRECTORIES):
        raise _unreadable_error()
    for name in SUBDIRECTORIES:
        (root / name).mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    root.chmod(DIRECTORY_MODE)
    with open_directory(root.resolve()) as top:
        for entry in walk(top):
            (root / entry.path).chmod(DIRECTORY_MODE if entry.is_directory else FILE_MODE)


def _verify(root: Path, runs: RunService, state: RunState) -> Verdict:
    verdict = verify_run(root, runs.ports.keys)
    if verdict.ok and verdict.run_id == state.run_id:
        return verdict
    errors = [finding for finding in verdict.findings if finding.severity == "error"]
    first = f": {errors[0].message}" if errors else ""
    raise ValidationFailed(
        f"the run does not verify{first}",
        hint="it was changed after it ended, or is not whole",
        details={"findings": msgspec.to_builtins(errors[:50])},
    )


def _check_references(paths: RunPaths, state: RunState) -> None:
    """Refuse a run that names files outside itself: reading them would disclose files of this machine."""
    if state.fork is not None:
        raise ValidationFailed(
            f"the run continues another one, `{state.fork.run_id[:80]}`, which is not part of it",
            hint="import that one, and fork it here",
        )
    if not is_legal_id(state.session_id) or not is_legal_id(state.task_id):
        raise ValidationFailed("the log does not say which session and task the run belongs to", hint=HINT)
    for name in (*state.snapshots, *_deliverables(paths)):
        if relative_parts(name) is None:
            raise ValidationFailed(f"the run names the file {name[:80]!a}, which is not inside it", hint=HINT)


def _check_readable(paths: RunPaths, ports: LogPorts, render: Render) -> None:
    """Refuse a run that could not be listed, shown or exported."""
    row, _ = read_row(paths.root, ports)
    for time in (row.created_at, row.updated_at, row.started_at, row.completed_at):
        if time is not None and datetime.fromisoformat(time).tzinfo is None:
            raise ValidationFailed(f"{time[:80]!a} is not a time with a time zone", hint=HINT)
    for name, value in msgspec.structs.asdict(row).items():
        if isinstance(value, int) and not -1 <= value < MAX_NUMBER:
            raise ValidationFailed(f"`{name}` of the run cannot be counted", hint=HINT)
    render(row, read_view(paths, ports))
    for piece in page_of(paths):
        del piece


def _deliverables(paths: RunPaths) -> list[str]:
    """Return the deliverables of the manifest, as they would be served."""
    manifest = msgspec.json.decode(paths.artifact_manifest.read_bytes(), type=ArtifactManifest)
    return [
        artifact.name
        for artifact in manifest.artifacts
        if artifact.role == "deliverable" and not artifact.annotations.get("escaped")
    ]
