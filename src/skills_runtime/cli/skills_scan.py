"""The `skills preflight` and `skills scan` commands."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
import typer

from skills_runtime.cli.options import (
    Assignments,
    ConfigFiles,
    ConfigOptions,
    Json,
    WorkspaceRoot,
    parse_path,
    resolve_settings,
)
from skills_runtime.cli.output import plural, write_json
from skills_runtime.cli.program import ExampleCommand, UsageError, create_app
from skills_runtime.clock import RandomIds
from skills_runtime.errors import ConfigError, NotFound, SkillsRuntimeError, ValidationFailed
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.skills import Issue, ScanReport
    from skills_runtime.skills.scan import Finding, SecurityReport

app = create_app()

CLEAN, SETTINGS_INVALID, SKILLS_WRONG, WARNED = 0, 10, 11, 12
"""Exit codes: no issues, invalid settings, invalid skills, warnings only."""

_KEY = re.compile(r"`(?P<key>[^`]+)`")
_CODES = (
    (re.compile(r"skills\.sources\[\d+\]\.type\Z"), "SKILL_CONFIG_UNKNOWN_SOURCE_TYPE"),
    (re.compile(r"skills\.sources\[\d+\]\.options\.dsn_env\Z"), "SKILL_CONFIG_INVALID_ENV_VAR_NAME"),
    (re.compile(r"skills\.versioning\."), "SKILL_CONFIG_VERSIONING_UNKNOWN_KEYS"),
    (re.compile(r".*/"), "CLI_OVERLAY_INVALID"),
)
_LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note"}
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_VERDICTS = ("clean", "suspicious", "malicious")

_PREFLIGHT = "skills preflight --pretty\nskills preflight --config runtime.yaml --no-dotenv"
NoDotenv = Annotated[bool, typer.Option("--no-dotenv", help="Do not read a `.env` file.")]


@app.command("validate-config", cls=ExampleCommand, epilog=_PREFLIGHT)
@app.command("preflight", cls=ExampleCommand, epilog=_PREFLIGHT)
def skills_preflight(
    *,
    pretty: Annotated[
        bool,
        typer.Option(
            "--pretty",
            help="Format the JSON. Exit code: 0 no issues, 10 errors, 12 warnings only.",
        ),
    ] = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
    no_dotenv: NoDotenv = False,
) -> int:
    """Validate the skill settings without scanning for skills."""
    options = ConfigOptions(workspace_root, config, assignments)
    resolved, issues = _check_settings(options, no_dotenv=no_dotenv)
    errors = sum(issue.severity == "error" for issue in issues)
    absolute_root = str(Path(workspace_root or ".").expanduser().absolute())
    answer = {
        "issues": issues,
        "stats": {
            "workspace_root": str(resolved.workspace_root) if resolved else absolute_root,
            "overlay_paths": [str(path) for path in resolved.overlay_paths] if resolved else [],
            "env_file": str(resolved.env_file) if resolved and resolved.env_file else None,
            "issues_total": len(issues),
            "errors_total": errors,
            "warnings_total": len(issues) - errors,
        },
    }
    _write_escaped(answer, pretty=pretty)
    return SETTINGS_INVALID if errors else WARNED if issues else CLEAN


@app.command(
    "scan", cls=ExampleCommand, epilog="skills scan --workspace-root . --pretty\nskills scan --security ./my-skill"
)
def skills_scan(
    *,
    pretty: Annotated[
        bool,
        typer.Option(
            "--pretty",
            help="Format the JSON. Exit code: 0 no issues, 11 errors, 12 warnings only.",
        ),
    ] = False,
    security: Annotated[
        bool,
        typer.Option(
            "--security",
            help="Scan PATH for security problems. Exit code: 0 clean, 1 findings.",
        ),
    ] = False,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="With `--security`: skills, or directories of them.")
    ] = None,
    as_json: Json = False,
    sarif: Annotated[bool, typer.Option("--sarif", help="With `--security`: write SARIF for code hosts.")] = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
    no_dotenv: NoDotenv = False,
) -> int:
    """Scan all sources and report skills and problems as JSON."""
    if security:
        return _scan_security(paths or [], as_json=as_json, sarif=sarif)
    if paths or sarif:
        raise UsageError("a PATH and `--sarif` need `--security`")
    options = ConfigOptions(workspace_root, config, assignments)
    report = _scan(options, no_dotenv=no_dotenv)
    _write_escaped(report, pretty=pretty)
    if report.errors:
        return SKILLS_WRONG
    return WARNED if any(warning.severity == "warning" for warning in report.warnings) else CLEAN


def _write_escaped(value: Any, *, pretty: bool) -> None:
    """Print a value as JSON with control characters escaped."""

    def escape(character: str) -> str:
        if character.isprintable() or character == "\n":
            return character
        return re.sub("(....)", r"\\u\1", character.encode("utf-16-be", "surrogatepass").hex())

    data = msgspec.json.encode(value)
    text = (msgspec.json.format(data) if pretty else data).decode()
    sys.stdout.write((text if text.isascii() else "".join(map(escape, text))) + "\n")


# Settings


def _check_settings(config_options: ConfigOptions, *, no_dotenv: bool) -> "tuple[Resolved | None, tuple[Issue, ...]]":
    """Return the settings, if they can be read, and the issues of the skill settings."""
    # The configuration is slow to import, and help needs none of it.
    from skills_runtime.config import without_dotenv
    from skills_runtime.skills import Issue, build_issue, preflight

    try:
        resolved = _resolve(config_options, without_dotenv() if no_dotenv else None)
    except _InvalidSettings as refusal:
        return None, refusal.issues
    notices = resolved.environment.dotenv.notices
    ignored = (Issue(code="CLI_DOTENV_LINE_IGNORED", severity="warning", message=text) for text in notices)
    return resolved, (*map(build_issue, preflight(resolved.settings.skills)), *ignored)


class _InvalidSettings(Exception):
    """The settings cannot be read."""

    def __init__(self, *issues: "Issue") -> None:
        super().__init__()
        self.issues = issues


def _resolve(config_options: ConfigOptions, environ: Mapping[str, str] | None) -> "Resolved":
    # The configuration is slow to import, and help needs none of it.
    from skills_runtime.config import current_directory, process_environ, read_environment, resolve_workspace

    try:
        root = resolve_workspace(config_options.workspace_root or ".", current_directory())
    except NotFound as error:
        raise _InvalidSettings(_build_issue("CLI_WORKSPACE_ROOT_NOT_FOUND", error)) from error
    except SkillsRuntimeError as error:
        raise _InvalidSettings(_build_issue("CLI_WORKSPACE_ROOT_INVALID", error)) from error
    try:
        read_environment(root, process_environ(environ))
    except SkillsRuntimeError as error:
        raise _InvalidSettings(_build_issue("CLI_DOTENV_LOAD_FAILED", error)) from error
    try:
        return resolve_settings(config_options, environ=environ)
    except SkillsRuntimeError as error:
        raise _InvalidSettings(*_list_issues(error)) from error


def _list_issues(error: SkillsRuntimeError) -> "Iterator[Issue]":
    """Yield an issue for each problem in an error."""
    from skills_runtime.skills import Issue  # slow, and help needs none of it

    problems = error.details.get("problems") if isinstance(error, ConfigError) else None
    if not problems:
        codes: tuple[tuple[type[SkillsRuntimeError], str], ...] = (
            (NotFound, "CLI_OVERLAY_NOT_FOUND"),
            (ConfigError, "CLI_OVERLAY_INVALID"),
            (ValidationFailed, "CLI_CONFIG_INVALID"),
        )
        yield _build_issue(
            next((code for kind, code in codes if isinstance(error, kind)), "CLI_OVERLAY_LOAD_FAILED"), error
        )
        return
    for message in problems:
        match = _KEY.search(message)
        key = match["key"] if match else ""
        code = next((code for pattern, code in _CODES if pattern.match(key)), "CLI_CONFIG_INVALID")
        hint = error.hint if message == error.message else ""
        yield Issue(code=code, severity="error", message=message, hint=hint, details={"path": key})


def _build_issue(code: str, error: SkillsRuntimeError) -> "Issue":
    from skills_runtime.skills import Issue  # slow, and help needs none of it

    return Issue(code=code, severity="error", message=error.message, hint=error.hint, details={"kind": error.kind})


# Skills


def _scan(config_options: ConfigOptions, *, no_dotenv: bool) -> "ScanReport":
    """Scan all sources; report invalid settings without scanning."""
    # The library is slow to import, and help needs none of it.
    from skills_runtime.skills import Issue, build_issue, build_scan_report, load_library

    scan_id = RandomIds().new("scan")
    resolved, issues = _check_settings(config_options, no_dotenv=no_dotenv)
    if resolved is None or any(issue.severity == "error" for issue in issues):
        return build_scan_report(scan_id, (), issues, spaces=0, sources=0)
    skills = resolved.settings.skills
    spaces, sources = sum(space.enabled for space in skills.spaces), len(skills.sources)
    try:
        library = load_library(resolved, include_untrusted=True)
        skills_found, problems = library.list(), library.problems()
    except SkillsRuntimeError as error:
        failed = Issue(code="CLI_SCAN_FAILED", severity="error", message=error.message, hint=error.hint)
        return build_scan_report(scan_id, (), (*issues, failed), spaces=spaces, sources=sources)
    return build_scan_report(
        scan_id, skills_found, (*issues, *map(build_issue, problems)), spaces=spaces, sources=sources
    )


# Security


class ScannedSkill(NamedTuple):
    """A skill and its security report."""

    path: str
    report: "SecurityReport"


def _scan_security(paths: Sequence[str], *, as_json: bool, sarif: bool) -> int:
    """Scan each skill below the paths; a directory without skills is scanned as it is."""
    # The scanner is slow to import, and help needs none of it.
    from skills_runtime.skills import skill_directories
    from skills_runtime.skills.scan import scan_directory

    if as_json and sarif:
        raise UsageError("`--json` and `--sarif` exclude each other")
    if not paths:
        raise UsageError("`--security` needs the PATH of a skill, or of a directory of skills")
    directories: list[Path] = []
    for path in [parse_path(path, option="PATH") for path in paths]:
        if path.name.lower() == "skill.md" and path.is_file():
            directories.append(path.parent)
        elif path.is_dir():
            directories += skill_directories(path)
        else:
            raise NotFound(
                f"there is no directory `{path}`", hint="give the directory of a skill, or of several skills"
            )
    scanned = [ScannedSkill(str(directory), scan_directory(directory)) for directory in directories]
    verdicts = {skill.report.verdict for skill in scanned}
    worst = next((verdict for verdict in reversed(_VERDICTS) if verdict in verdicts), "clean")
    if sarif:
        write_json(_sarif_document(scanned))
    elif as_json:
        skills = [{"path": readable_line(skill.path), **msgspec.to_builtins(skill.report)} for skill in scanned]
        write_json({"verdict": worst, "skills": skills})
    else:
        _show_security(scanned)
    return 0 if worst == "clean" else 1


def _show_security(scanned: Sequence[ScannedSkill]) -> None:
    """Print the security reports."""
    for path, report in scanned:
        print(f"{report.verdict:<10} {readable_line(path)} (score {report.score})")
        for finding in (finding for finding in report.findings if finding.severity != "info"):
            file = readable_line(f"{finding.file}:{finding.line}" if finding.line else finding.file)
            print(f"  {finding.severity:<8} {finding.code} {file}: {finding.title}")
            print(f"           {readable_line(finding.excerpt)}")
            if finding.severity in ("high", "critical"):
                print(f"           {finding.why}; {finding.remedy}")
        for skipped in report.skipped:
            print(f"  not read: {readable_line(skipped.file)}: {readable_line(skipped.reason)}")
    if len(scanned) > 1:
        counts = [f"{sum(skill.report.verdict == verdict for skill in scanned)} {verdict}" for verdict in _VERDICTS]
        print(f"{plural(len(scanned), 'skill')}: {', '.join(counts)}")


def _sarif_document(scanned: Sequence[ScannedSkill]) -> dict[str, Any]:
    """Build a SARIF document of the reports."""
    from skills_runtime.skills.scan import SCAN_RULES  # slow, and help needs none of it

    results = [_sarif_result(skill, finding) for skill in scanned for finding in skill.report.findings]
    rules = [
        {
            "id": code,
            "shortDescription": {"text": SCAN_RULES[code].title},
            "fullDescription": {"text": SCAN_RULES[code].why},
            "help": {"text": SCAN_RULES[code].remedy},
            "defaultConfiguration": {"level": _LEVELS[SCAN_RULES[code].severity]},
        }
        for code in sorted({result["ruleId"] for result in results})
    ]
    driver = {"name": "skills-runtime", "rules": rules}
    return {"$schema": _SARIF, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _sarif_result(scanned: ScannedSkill, finding: "Finding") -> dict[str, Any]:
    file = {"artifactLocation": {"uri": f"{readable_line(scanned.path)}/{finding.file}"}}
    region = {"region": {"startLine": finding.line}} if finding.line else {}
    return {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.title}: {finding.excerpt}"},
        "locations": [{"physicalLocation": {**file, **region}}],
        "properties": {"severity": finding.severity, "verdict": scanned.report.verdict},
    }
