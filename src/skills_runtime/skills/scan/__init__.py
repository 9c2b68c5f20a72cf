"""A static scan of skills for what harms their user; it reads files and runs nothing."""

from skills_runtime.skills.scan.report import Finding, SecurityReport, Severity, Skipped, Verdict
from skills_runtime.skills.scan.rules import RULES, Rule
from skills_runtime.skills.scan.scan import scan_directory

__all__ = [
    "RULES",
    "Finding",
    "Rule",
    "SecurityReport",
    "Severity",
    "Skipped",
    "Verdict",
    "scan_directory",
]
