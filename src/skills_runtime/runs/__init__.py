"""One run on disk: layout, log, blobs, snapshots, manifests, state, verify, export."""

from typing import TYPE_CHECKING

from skills_runtime.events import RunStatus, check_transition, parse_status
from skills_runtime.lazy import lazy_names
from skills_runtime.runs.blobs import Blobs
from skills_runtime.runs.create import create_run
from skills_runtime.runs.finish import End, finish_run, finish_run_async
from skills_runtime.runs.fork import blobs_of, fork_point, whole_history
from skills_runtime.runs.layout import RunPaths, check_id, is_legal_id, runs_root
from skills_runtime.runs.log import (
    EventLog,
    KeyRing,
    LogPorts,
    RunLock,
    authenticate,
    follow_lines,
    read_events,
    read_verified,
)
from skills_runtime.runs.manifests import files_of, write_artifact
from skills_runtime.runs.record import RunRecord, read_prompt, read_record
from skills_runtime.runs.run import Run, open_run, read_view
from skills_runtime.runs.spec import Deliverable, RunSpec
from skills_runtime.runs.verify import Finding, Verdict, verify_run

if TYPE_CHECKING:
    from skills_runtime.runs.create import publish_run, stage_run
    from skills_runtime.runs.export import export_run, page_of, write_page
    from skills_runtime.runs.fork import (
        IMPORTED,
        fork_of,
        has_own_config,
        history_before,
        is_from_elsewhere,
        was_imported,
    )
    from skills_runtime.runs.layout import DIRECTORY_MODE, FILE_MODE, STATE_DIRECTORY, SUBDIRECTORIES
    from skills_runtime.runs.listing import read_manifest
    from skills_runtime.runs.manifests import ROLES, ArtifactManifest, scan_outputs
    from skills_runtime.runs.record import build_record, catch_up, is_transcript_current
    from skills_runtime.runs.run import use_run
    from skills_runtime.runs.spec import SessionTask, WorkspaceMode, pretty
    from skills_runtime.runs.verify import Head

__getattr__ = lazy_names(
    __name__,
    {
        "create": "publish_run stage_run",
        "export": "export_run page_of write_page",
        "fork": "IMPORTED fork_of has_own_config history_before is_from_elsewhere was_imported",
        "layout": "DIRECTORY_MODE FILE_MODE STATE_DIRECTORY SUBDIRECTORIES",
        "listing": "read_manifest",
        "manifests": "ArtifactManifest ROLES scan_outputs",
        "record": "catch_up build_record is_transcript_current",
        "run": "use_run",
        "spec": "SessionTask WorkspaceMode pretty",
        "verify": "Head",
    },
)

__all__ = [
    "DIRECTORY_MODE",
    "FILE_MODE",
    "IMPORTED",
    "ROLES",
    "STATE_DIRECTORY",
    "SUBDIRECTORIES",
    "ArtifactManifest",
    "Blobs",
    "Deliverable",
    "End",
    "EventLog",
    "Finding",
    "Head",
    "KeyRing",
    "LogPorts",
    "Run",
    "RunLock",
    "RunPaths",
    "RunRecord",
    "RunSpec",
    "RunStatus",
    "SessionTask",
    "Verdict",
    "WorkspaceMode",
    "authenticate",
    "blobs_of",
    "build_record",
    "catch_up",
    "check_id",
    "check_transition",
    "create_run",
    "export_run",
    "files_of",
    "finish_run",
    "finish_run_async",
    "follow_lines",
    "fork_of",
    "fork_point",
    "has_own_config",
    "history_before",
    "is_from_elsewhere",
    "is_legal_id",
    "is_transcript_current",
    "open_run",
    "page_of",
    "parse_status",
    "pretty",
    "publish_run",
    "read_events",
    "read_manifest",
    "read_prompt",
    "read_record",
    "read_verified",
    "read_view",
    "runs_root",
    "scan_outputs",
    "stage_run",
    "use_run",
    "verify_run",
    "was_imported",
    "whole_history",
    "write_artifact",
    "write_page",
]
