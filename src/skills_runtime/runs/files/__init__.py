"""The files of a run: what its tools may touch, how they touch it, and what was left behind."""

from skills_runtime.runs.files.locate import Entry, Listing, resolve
from skills_runtime.runs.files.operations import RunFiles
from skills_runtime.runs.files.paths import (
    PathPolicy,
    escape_path,
    isolated_policy,
    parse_path,
    path_error,
    printable,
    shared_policy,
)
from skills_runtime.runs.files.scan import Scan, ScanLimits, ScannedFile, Skipped, scan
from skills_runtime.storage import (
    open_beneath,
    open_root,
)

__all__ = [
    "Entry",
    "Listing",
    "PathPolicy",
    "RunFiles",
    "Scan",
    "ScanLimits",
    "ScannedFile",
    "Skipped",
    "escape_path",
    "isolated_policy",
    "open_beneath",
    "open_root",
    "parse_path",
    "path_error",
    "printable",
    "resolve",
    "scan",
    "shared_policy",
]
