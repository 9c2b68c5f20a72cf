"""Finish a run: write its manifest, check required deliverables, append the terminal event.

The order is part of the contract: manifest, its event, the terminal event made durable, run.json, transcript.
"""

import asyncio
import hashlib
from collections.abc import Callable

from skills_runtime.events import (
    ArtifactManifestWritten,
    Descriptor,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStatus,
    check_transition,
)
from skills_runtime.runs.layout import spare_path
from skills_runtime.runs.manifests import final_manifest
from skills_runtime.runs.record import swap, write_transcript
from skills_runtime.runs.run import Run
from skills_runtime.runs.spec import pretty

End = RunCompleted | RunFailed | RunCancelled

_STATUS = {RunCompleted: RunStatus.COMPLETED, RunFailed: RunStatus.FAILED, RunCancelled: RunStatus.CANCELLED}


def finish_run(run: Run, end: End, *, before_end: Callable[[], object] = lambda: None) -> None:
    """Finish a run; a completed one that lacks a required deliverable fails.

    Scanning the outputs takes time; `before_end` may still append to the log afterwards.
    """

    def call_before_end() -> bool:
        before_end()
        return False

    _append_end(run, end, call_before_end)
    run.commit()
    _write_derived_files(run)


async def finish_run_async(run: Run, end: End, *, should_continue: Callable[[], bool] = lambda: False) -> bool:
    """Finish a run without blocking the event loop; cancellation does not interrupt it.

    `should_continue` is called after the outputs are scanned and before anything is written: if it returns True, the
    run stays open. Return whether the run has ended.
    """
    if not _append_end(run, end, should_continue):
        return False
    try:
        await run.commit_async()
    except asyncio.CancelledError:
        run.commit()
        _write_derived_files(run)
        raise
    _write_derived_files(run)
    return True


def _append_end(run: Run, end: End, should_continue: Callable[[], bool]) -> bool:
    check_transition(run.state.status, _STATUS[type(end)])
    manifest = final_manifest(run, _STATUS[type(end)])
    missing = [str(deliverable["path"]) for deliverable in manifest.required_deliverables if not deliverable["present"]]
    if missing and isinstance(end, RunCompleted):
        end = _missing_deliverables(missing, end)
        manifest = final_manifest(run, RunStatus.FAILED)
    if isinstance(end, RunCompleted):
        delivered = [artifact.name for artifact in manifest.artifacts if artifact.role == "deliverable"]
        end = RunCompleted(
            final_output=end.final_output, artifacts=delivered, wal_locator=end.wal_locator, metadata=end.metadata
        )
    data = pretty(manifest)
    if should_continue():
        return False
    swap(f"{run.paths.root}/artifact-manifest.json", data, spare_path(run.paths.root))
    run.log.with_next_commit(run.paths.root, "artifact-manifest.json")
    run.append(
        ArtifactManifestWritten(
            manifest=Descriptor(name="artifact-manifest.json", sha256=hashlib.sha256(data).hexdigest(), size=len(data)),
            artifacts=len(manifest.artifacts),
            complete=bool(manifest.scan.get("complete")),
        )
    )
    run.append(end)
    return True


def _write_derived_files(run: Run) -> None:
    run.save()
    write_transcript(run.paths, run.events())


def _missing_deliverables(names: list[str], end: RunCompleted) -> RunFailed:
    short = ", ".join(name.removeprefix("deliverables/") for name in names)
    return RunFailed(
        error_kind="validation",
        message=f"missing_deliverable: {short}",
        details={"hint": "required files must be below `deliverables/`", "final_output": end.final_output},
        wal_locator=end.wal_locator,
    )
