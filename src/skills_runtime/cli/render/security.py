"""How a security scan is written: as lines for people, as JSON or SARIF for programs."""

from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import msgspec

from skills_runtime.cli.render.text import one_line, plural
from skills_runtime.cli.skill_security import ScannedSkill, worst
from skills_runtime.skills.scan import RULES, Finding

_LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note"}
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


def show_security(scanned: Sequence[ScannedSkill], out: TextIO) -> None:
    """Write the scan for a person."""
    for each in scanned:
        report = each.report
        told = [finding for finding in report.findings if finding.severity != "info"]
        out.write(f"{report.verdict:<10} {one_line(each.path)} (score {report.score})\n")
        for finding in told:
            _show_finding(finding, out)
        for skipped in report.skipped:
            out.write(f"  not read: {one_line(skipped.file)}: {one_line(skipped.reason)}\n")
    if len(scanned) > 1:
        counts = {verdict: sum(each.report.verdict == verdict for each in scanned) for verdict in _VERDICTS}
        out.write(
            f"{plural(len(scanned), 'skill')}: {', '.join(f'{counts[verdict]} {verdict}' for verdict in counts)}\n"
        )


_VERDICTS = ("clean", "suspicious", "malicious")


def write_security(scanned: Sequence[ScannedSkill], out: TextIO) -> None:
    """Write the scan for programs."""
    skills = [{"path": one_line(each.path), **msgspec.to_builtins(each.report)} for each in scanned]
    _write({"verdict": worst(scanned), "skills": skills}, out)


def write_sarif(scanned: Sequence[ScannedSkill], out: TextIO) -> None:
    """Write the scan in the form that code hosts show beside the code."""
    results = [_result(each, finding) for each in scanned for finding in each.report.findings]
    used = sorted({result["ruleId"] for result in results})
    driver = {"name": "skills-runtime", "rules": [_rule(code) for code in used]}
    _write({"$schema": _SARIF, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}, out)


def _show_finding(finding: Finding, out: TextIO) -> None:
    place = f"{finding.file}:{finding.line}" if finding.line else finding.file
    out.write(f"  {finding.severity:<8} {finding.code} {one_line(place)}: {finding.title}\n")
    out.write(f"           {one_line(finding.excerpt)}\n")
    if finding.severity in ("high", "critical"):
        out.write(f"           {finding.why}; {finding.remedy}\n")


def _rule(code: str) -> Mapping[str, Any]:
    rule = RULES[code]
    return {
        "id": code,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.remedy},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(scanned: ScannedSkill, finding: Finding) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": f"{one_line(scanned.path)}/{finding.file}"}}
    region = {"region": {"startLine": finding.line}} if finding.line else {}
    return {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.title}: {finding.excerpt}"},
        "locations": [{"physicalLocation": {**place, **region}}],
        "properties": {"severity": finding.severity, "verdict": scanned.report.verdict},
    }


def _write(value: Any, out: TextIO) -> None:
    out.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")
