"""One run on disk: layout, log, blobs, snapshots, manifests, state, verify, export."""

from skills_runtime.events.states import RunStatus, check_transition, parse_status
from skills_runtime.runs.blobs import Blobs
from skills_runtime.runs.create import create_run
from skills_runtime.runs.finish import End, finish_run, finish_run_async
from skills_runtime.runs.fork import blobs_of, fork_point, whole_history
from skills_runtime.runs.layout import RunPaths, check_id, is_legal_id, runs_root
from skills_runtime.runs.log import (
    EventLog,
    KeyRing,
    LogPorts,
    authenticate,
    follow_lines,
    read_events,
    read_verified,
)
from skills_runtime.runs.manifests import files_of, keep_artifact
from skills_runtime.runs.record import RunRecord, read_record
from skills_runtime.runs.run import Run, open_run, read_view
from skills_runtime.runs.spec import Deliverable, RunSpec
from skills_runtime.runs.verify import Finding, Verdict, verify_run

__all__ = [
    "Blobs",
    "Deliverable",
    "End",
    "EventLog",
    "Finding",
    "KeyRing",
    "LogPorts",
    "Run",
    "RunPaths",
    "RunRecord",
    "RunSpec",
    "RunStatus",
    "Verdict",
    "authenticate",
    "blobs_of",
    "check_id",
    "check_transition",
    "create_run",
    "files_of",
    "finish_run",
    "finish_run_async",
    "follow_lines",
    "fork_point",
    "is_legal_id",
    "keep_artifact",
    "open_run",
    "parse_status",
    "read_events",
    "read_record",
    "read_verified",
    "read_view",
    "runs_root",
    "verify_run",
    "whole_history",
]
