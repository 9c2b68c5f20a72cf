"""What the files of a run from elsewhere may say, before anything here believes it."""

from datetime import datetime

import msgspec

from skills_runtime.engine import read_row
from skills_runtime.errors import ValidationFailed
from skills_runtime.projections import RunState
from skills_runtime.runs import LogPorts, RunPaths, is_legal_id, read_view
from skills_runtime.runs.export import page_of
from skills_runtime.runs.manifests import ArtifactManifest
from skills_runtime.service.run_documents import row_document, run_document
from skills_runtime.storage.nofollow import relative_parts

HINT = "send a run as it was exported"
MAX_NUMBER = 2**53
"""What a page in a browser can still count."""


def refuse_odd(paths: RunPaths, state: RunState) -> None:
    """Refuse a run that names files outside itself: reading them would tell what is on this machine."""
    if state.fork is not None:
        raise ValidationFailed(
            f"the run goes on from another one, `{state.fork.run_id[:80]}`, which is not part of it",
            hint="import that one, and fork it here",
        )
    if not is_legal_id(state.session_id) or not is_legal_id(state.task_id):
        raise ValidationFailed("the log does not say which session and task the run belongs to", hint=HINT)
    for name in (*state.snapshots, *_deliverables(paths)):
        if relative_parts(name) is None:
            raise ValidationFailed(f"the run names the file {name[:80]!a}, which is not inside it", hint=HINT)


def refuse_untold(paths: RunPaths, ports: LogPorts) -> None:
    """Refuse a run that could not be listed, shown or handed on: it would be in the way of all others."""
    row, _ = read_row(paths.root, ports)
    for time in (row.created_at, row.updated_at, row.started_at, row.completed_at):
        if time is not None and datetime.fromisoformat(time).tzinfo is None:
            raise ValidationFailed(f"{time[:80]!a} is not a time with a time zone", hint=HINT)
    for name, value in msgspec.structs.asdict(row).items():
        if isinstance(value, int) and not -1 <= value < MAX_NUMBER:
            raise ValidationFailed(f"`{name}` of the run cannot be counted", hint=HINT)
    msgspec.json.encode((row_document(row), run_document(read_view(paths, ports), now=row.updated_at)))
    for piece in page_of(paths):
        del piece


def _deliverables(paths: RunPaths) -> list[str]:
    """The files the manifest hands over, as they would be looked at."""
    manifest = msgspec.json.decode(paths.artifact_manifest.read_bytes(), type=ArtifactManifest)
    return [one.name for one in manifest.artifacts if one.role == "deliverable" and not one.annotations.get("escaped")]
