"""Scans skills for a person or a program that asks whether they do harm."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from skills_runtime.errors import NotFound
from skills_runtime.skills.scan import SecurityReport, Verdict, scan_directory
from skills_runtime.skills.sources.search import skill_directories

CLEAN, FOUND = 0, 1
"""Exit codes: nothing is against any of the skills, something is against at least one."""


class ScannedSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill and what is to be said against it."""

    path: str
    report: SecurityReport


def security_reports(paths: Iterable[Path]) -> list[ScannedSkill]:
    """Each skill that the paths stand for, scanned; a directory without a skill in it is scanned as it is."""
    return [_scanned(directory) for path in paths for directory in _directories(path)]


def exit_code(scanned: Sequence[ScannedSkill]) -> int:
    """What a program that asks us is told."""
    return FOUND if worst(scanned) != "clean" else CLEAN


def worst(scanned: Sequence[ScannedSkill]) -> Verdict:
    """The gravest verdict among them."""
    verdicts = {each.report.verdict for each in scanned}
    return "malicious" if "malicious" in verdicts else "suspicious" if "suspicious" in verdicts else "clean"


def _directories(path: Path) -> list[Path]:
    if path.name.lower() == "skill.md" and path.is_file():
        return [path.parent]
    if not path.is_dir():
        raise NotFound(f"there is no directory `{path}`", hint="name the directory of a skill, or one of skills")
    return skill_directories(path)


def _scanned(directory: Path) -> ScannedSkill:
    return ScannedSkill(path=str(directory), report=scan_directory(directory))
