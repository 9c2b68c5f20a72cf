"""Adds findings up to a verdict; weak signs alone never make one."""

from collections.abc import Iterable

from skills_runtime.skills.security.report import SEVERITIES, Finding, Verdict

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
