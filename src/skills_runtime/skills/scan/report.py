"""What a scan says: findings, how they add up, and what was read to come to them."""

from collections.abc import Iterable
from typing import Literal

import msgspec

Severity = Literal["info", "low", "medium", "high", "critical"]
Verdict = Literal["clean", "suspicious", "malicious"]

SEVERITIES: tuple[Severity, ...] = ("info", "low", "medium", "high", "critical")
"""From what is only worth knowing to what nobody needs who means well."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was found in a file of a skill."""

    code: str
    """Which rule it is; stable, and listed in the documentation."""
    severity: Severity
    title: str
    file: str
    """The file below the skill, with `/` between names."""
    line: int
    """The line it begins at, from one; nought where the file as a whole is meant."""
    excerpt: str
    """The place on one line, cut short, with nothing in it that a terminal or a model could take for more."""
    why: str
    remedy: str


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was not read, or not to its end, and why."""

    file: str
    reason: str


class SecurityReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a scan of one directory came to."""

    findings: tuple[Finding, ...]
    """The gravest first, then by file and line."""
    verdict: Verdict
    score: int
    """How much there is against it: 50 makes it suspicious, 100 malicious."""
    files_read: int
    skipped: tuple[Skipped, ...] = ()


def lowered(severity: Severity, steps: int) -> Severity:
    """The severity so many steps further down, or further up for a negative number."""
    place = SEVERITIES.index(severity) - steps
    return SEVERITIES[max(0, min(place, len(SEVERITIES) - 1))]


SUSPICIOUS = 50
MALICIOUS = 100
WEAK_AT_MOST = 20
_WEIGHTS = {"info": 0, "low": 5, "medium": 25, "high": 50, "critical": 100}


def judged(findings: Iterable[Finding]) -> tuple[Verdict, int, tuple[Finding, ...]]:
    """The verdict, the score, and the findings in the order in which to read them."""
    ordered = tuple(sorted(findings, key=_rank))
    worst: dict[str, int] = {}
    for finding in ordered:
        worst[finding.code] = max(worst.get(finding.code, 0), _WEIGHTS[finding.severity])
    weak = sum(weight for weight in worst.values() if weight < _WEIGHTS["medium"])
    score = sum(weight for weight in worst.values() if weight >= _WEIGHTS["medium"]) + min(weak, WEAK_AT_MOST)
    verdict: Verdict = "malicious" if score >= MALICIOUS else "suspicious" if score >= SUSPICIOUS else "clean"
    return verdict, score, ordered


def _rank(finding: Finding) -> tuple[int, str, int, str, str]:
    return -SEVERITIES.index(finding.severity), finding.file, finding.line, finding.code, finding.excerpt
