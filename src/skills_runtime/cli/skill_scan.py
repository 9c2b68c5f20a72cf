"""Reports on skills: what is wrong with their settings, with any of them, and whether they do harm."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import msgspec

from skills_runtime.cli.inputs import resolve_settings
from skills_runtime.cli.options import ConfigOptions
from skills_runtime.cli.text import plural
from skills_runtime.clock import RandomIds
from skills_runtime.config import Resolved, without_dotenv
from skills_runtime.config.environment import process_environ, read_environment
from skills_runtime.config.files import current_directory, workspace
from skills_runtime.errors import ConfigError, NotFound, SkillsRuntimeError, ValidationFailed
from skills_runtime.skills import library_of
from skills_runtime.skills.configured import preflight
from skills_runtime.skills.scan import SCAN_RULES, Finding, SecurityReport, Verdict, scan_directory
from skills_runtime.skills.scan_report import Issue, ScanReport, issue_of, scan_report
from skills_runtime.skills.sources.filesystem import skill_directories
from skills_runtime.text import readable_line

CLEAN, SETTINGS_WRONG, SKILLS_WRONG, WARNED = 0, 10, 11, 12
"""Exit codes: nothing to say, errors in settings, errors among skills, warnings only."""

_PLACE = re.compile(r"`(?P<key>[^`]+)`")
_CODES = (
    (re.compile(r"skills\.sources\[\d+\]\.type\Z"), "SKILL_CONFIG_UNKNOWN_SOURCE_TYPE"),
    (re.compile(r"skills\.sources\[\d+\]\.options\.dsn_env\Z"), "SKILL_CONFIG_INVALID_ENV_VAR_NAME"),
    (re.compile(r"skills\.versioning\."), "SKILL_CONFIG_VERSIONING_UNKNOWN_KEYS"),
    (re.compile(r".*/"), "CLI_OVERLAY_INVALID"),
)
_LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note"}
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_VERDICTS = ("clean", "suspicious", "malicious")


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """The settings, or why there are none, and all that is wrong with those of skills."""

    resolved: Any = None
    issues: tuple[Issue, ...] = ()

    @property
    def settings(self) -> Resolved | None:
        """What the settings amount to, when they can be read at all."""
        return self.resolved


def looked_at(given: ConfigOptions, *, no_dotenv: bool, program: str) -> Looked:
    """Read the settings and judge them; whatever is wrong is in the value."""
    environ = without_dotenv() if no_dotenv else None
    try:
        resolved = _resolved(given, program, environ)
    except _Refused as refusal:
        return Looked(issues=refusal.issues)
    notices = tuple(
        Issue(code="CLI_DOTENV_LINE_IGNORED", severity="warning", message=text)
        for text in resolved.environment.dotenv.notices
    )
    return Looked(resolved=resolved, issues=(*map(issue_of, preflight(resolved.settings.skills)), *notices))


class _Refused(Exception):
    """The settings cannot be read."""

    def __init__(self, *issues: Issue) -> None:
        super().__init__()
        self.issues = issues


def _resolved(given: ConfigOptions, program: str, environ: Mapping[str, str] | None) -> Resolved:
    try:
        root = workspace(given.workspace_root or ".", current_directory())
    except NotFound as error:
        raise _Refused(_issue("CLI_WORKSPACE_ROOT_NOT_FOUND", error)) from error
    except SkillsRuntimeError as error:
        raise _Refused(_issue("CLI_WORKSPACE_ROOT_INVALID", error)) from error
    try:
        read_environment(root, process_environ(environ))
    except SkillsRuntimeError as error:
        raise _Refused(_issue("CLI_DOTENV_LOAD_FAILED", error)) from error
    try:
        return resolve_settings(given, program=program, environ=environ)
    except SkillsRuntimeError as error:
        raise _Refused(*_told(error)) from error


def _told(error: SkillsRuntimeError) -> Iterator[Issue]:
    problems = error.details.get("problems") if isinstance(error, ConfigError) else None
    if problems:
        for message in problems:
            place = _PLACE.search(message)
            key = place["key"] if place else ""
            code = next((code for pattern, code in _CODES if pattern.match(key)), "CLI_CONFIG_INVALID")
            hint = error.hint if message == error.message else ""
            yield Issue(code=code, severity="error", message=message, hint=hint, details={"path": key})
    elif isinstance(error, NotFound):
        yield _issue("CLI_OVERLAY_NOT_FOUND", error)
    elif isinstance(error, ConfigError):
        yield _issue("CLI_OVERLAY_INVALID", error)
    else:
        yield _issue("CLI_CONFIG_INVALID" if isinstance(error, ValidationFailed) else "CLI_OVERLAY_LOAD_FAILED", error)


def _issue(code: str, error: SkillsRuntimeError) -> Issue:
    return Issue(code=code, severity="error", message=error.message, hint=error.hint, details={"kind": error.kind})


def scanned(given: ConfigOptions, *, no_dotenv: bool, program: str) -> ScanReport:
    """What a search finds now; settings that cannot work are errors of the report, and nothing is searched then."""
    scan_id = RandomIds().new("scan")
    looked = looked_at(given, no_dotenv=no_dotenv, program=program)
    resolved = looked.settings
    if resolved is None or any(one.severity == "error" for one in looked.issues):
        return scan_report(scan_id, (), looked.issues, spaces=0, sources=0)
    skills = resolved.settings.skills
    spaces, sources = sum(space.enabled for space in skills.spaces), len(skills.sources)
    try:
        library = library_of(resolved, looking=True)
        found, problems = library.list(), library.problems()
    except SkillsRuntimeError as error:
        failed = Issue(code="CLI_SCAN_FAILED", severity="error", message=error.message, hint=error.hint)
        return scan_report(scan_id, (), (*looked.issues, failed), spaces=spaces, sources=sources)
    issues = (*looked.issues, *map(issue_of, problems))
    return scan_report(scan_id, found, issues, spaces=spaces, sources=sources)


class ScannedSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill and what is to be said against it."""

    path: str
    report: SecurityReport


def security_reports(paths: Iterable[Path]) -> list[ScannedSkill]:
    """Each skill that the paths stand for, scanned; a directory without a skill in it is scanned as it is."""
    return [
        ScannedSkill(path=str(directory), report=scan_directory(directory))
        for path in paths
        for directory in _directories(path)
    ]


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


def show_security(scanned: Sequence[ScannedSkill], out: TextIO) -> None:
    """Write the scan for a person."""
    for each in scanned:
        report = each.report
        told = [finding for finding in report.findings if finding.severity != "info"]
        out.write(f"{report.verdict:<10} {readable_line(each.path)} (score {report.score})\n")
        for finding in told:
            place = f"{finding.file}:{finding.line}" if finding.line else finding.file
            out.write(f"  {finding.severity:<8} {finding.code} {readable_line(place)}: {finding.title}\n")
            out.write(f"           {readable_line(finding.excerpt)}\n")
            if finding.severity in ("high", "critical"):
                out.write(f"           {finding.why}; {finding.remedy}\n")
        for skipped in report.skipped:
            out.write(f"  not read: {readable_line(skipped.file)}: {readable_line(skipped.reason)}\n")
    if len(scanned) > 1:
        counts = {verdict: sum(each.report.verdict == verdict for each in scanned) for verdict in _VERDICTS}
        out.write(
            f"{plural(len(scanned), 'skill')}: {', '.join(f'{counts[verdict]} {verdict}' for verdict in counts)}\n"
        )


def write_security(scanned: Sequence[ScannedSkill], out: TextIO) -> None:
    """Write the scan for programs."""
    skills = [{"path": readable_line(each.path), **msgspec.to_builtins(each.report)} for each in scanned]
    _write({"verdict": worst(scanned), "skills": skills}, out)


def write_sarif(scanned: Sequence[ScannedSkill], out: TextIO) -> None:
    """Write the scan in the form that code hosts show beside the code."""
    results = [_result(each, finding) for each in scanned for finding in each.report.findings]
    used = sorted({result["ruleId"] for result in results})
    driver = {"name": "skills-runtime", "rules": [_rule(code) for code in used]}
    _write({"$schema": _SARIF, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}, out)


def _rule(code: str) -> Mapping[str, Any]:
    rule = SCAN_RULES[code]
    return {
        "id": code,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.remedy},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(scanned: ScannedSkill, finding: Finding) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": f"{readable_line(scanned.path)}/{finding.file}"}}
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


def preflight_answer(found: Looked, workspace_root: str) -> dict[str, Any]:
    """What `skills preflight` says."""
    settings, issues = found.settings, found.issues
    errors = sum(one.severity == "error" for one in issues)
    return {
        "issues": issues,
        "stats": {
            "workspace_root": str(settings.workspace_root) if settings else workspace_root,
            "overlay_paths": [str(path) for path in settings.overlay_paths] if settings else [],
            "env_file": str(settings.env_file) if settings and settings.env_file else None,
            "issues_total": len(issues),
            "errors_total": errors,
            "warnings_total": len(issues) - errors,
        },
    }


def write_json(value: Any, out: TextIO, *, pretty: bool) -> None:
    """Write one value on one line, or with line breaks; what a terminal would obey is escaped."""
    data = msgspec.json.encode(value)
    text = (msgspec.json.format(data) if pretty else data).decode()
    out.write("".join(_escaped(each) for each in text) + "\n" if not text.isascii() else f"{text}\n")


def _escaped(character: str) -> str:
    if character.isprintable() or character == "\n":
        return character
    return "".join(f"\\u{unit:04x}" for unit in _units(character))


def _units(character: str) -> list[int]:
    data = character.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[place : place + 2], "big") for place in range(0, len(data), 2)]
