"""The settings of skills for commands that report what is wrong with them instead of stopping at it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from skills_runtime.cli.options import ConfigOptions
from skills_runtime.cli.settings import resolve_settings
from skills_runtime.config import Resolved, without_dotenv
from skills_runtime.config.environment import process_environ, read_environment
from skills_runtime.config.files import current_directory, workspace
from skills_runtime.errors import ConfigError, NotFound, SkillsRuntimeError, ValidationFailed
from skills_runtime.skills.preflight import preflight
from skills_runtime.skills.scan_report import Issue, issue_of

CLEAN, SETTINGS_WRONG, SKILLS_WRONG, WARNED = 0, 10, 11, 12
"""Exit codes: nothing to say, errors in settings, errors among skills, warnings only."""

_PLACE = re.compile(r"`(?P<key>[^`]+)`")
_CODES = (
    (re.compile(r"skills\.sources\[\d+\]\.type\Z"), "SKILL_CONFIG_UNKNOWN_SOURCE_TYPE"),
    (re.compile(r"skills\.sources\[\d+\]\.options\.dsn_env\Z"), "SKILL_CONFIG_INVALID_ENV_VAR_NAME"),
    (re.compile(r"skills\.versioning\."), "SKILL_CONFIG_VERSIONING_UNKNOWN_KEYS"),
    (re.compile(r".*/"), "CLI_OVERLAY_INVALID"),
)


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
