"""Static security scan of skills; reads files and runs nothing."""

from skills_runtime.skills.scan.rules import (
    SCAN_RULES,
    Finding,
    FindingSeverity,
    ScanRule,
    SecurityReport,
    SkippedFile,
    Verdict,
)
from skills_runtime.skills.scan.scan import scan_directory

__all__ = [
    "SCAN_RULES",
    "Finding",
    "FindingSeverity",
    "ScanRule",
    "SecurityReport",
    "SkippedFile",
    "Verdict",
    "scan_directory",
]
