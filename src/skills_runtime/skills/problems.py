"""Problems of skills: a code for programs, one sentence for users, and a hint.

A scan collects problems as values, so that one broken skill never hides the others.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from skills_runtime.errors import TOOL_KINDS, ConfigError, UsageError

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "SKILL_SCAN_METADATA_INVALID": "validation",
        "SKILL_SCAN_SOURCE_UNAVAILABLE": "not_found",
        "SKILL_SCAN_REFRESH_FAILED": "not_found",
        "SKILL_SCAN_LIMIT_REACHED": "validation",
        "SKILL_SCAN_LINK_SKIPPED": "validation",
        "SKILL_DUPLICATE_NAME": "validation",
        "SKILL_NAME_AMBIGUOUS": "validation",
        "SKILL_SHADOWED": "validation",
        "SKILL_FOLDER_UNTRUSTED": "permission",
        "SKILL_UNTRUSTED": "permission",
        "SKILL_TRUST_UNREADABLE": "permission",
        "SKILL_LOCK_UNREADABLE": "validation",
        "SKILL_PLUGIN_INVALID": "validation",
        "SKILL_SPACE_NOT_CONFIGURED": "not_found",
        "SKILL_UNKNOWN": "not_found",
        "SKILL_NOT_FOR_PEOPLE": "permission",
        "SKILL_MENTION_FORMAT_INVALID": "validation",
        "SKILL_BODY_READ_FAILED": "not_found",
        "SKILL_BODY_TOO_LARGE": "validation",
        "SKILL_ENV_VAR_MISSING": "missing_env_var",
        "SKILL_ACTIONS_DISABLED": "permission",
        "SKILL_ACTION_NOT_FOUND": "not_found",
        "SKILL_ACTION_DEFINITION_INVALID": "validation",
        "SKILL_ACTION_ARGV_PATH_ESCAPE": "permission",
        "SKILL_ACTION_ARGV_PATH_INVALID": "validation",
        "SKILL_ACTION_SOURCE_UNSUPPORTED": "validation",
        "SKILL_REFERENCES_DISABLED": "permission",
        "SKILL_REF_PATH_INVALID": "validation",
        "SKILL_REF_PATH_ESCAPE": "permission",
        "SKILL_REF_NOT_FOUND": "not_found",
        "SKILL_REF_SOURCE_UNSUPPORTED": "validation",
        "SKILL_BUNDLE_NOT_FOUND": "not_found",
        "SKILL_BUNDLE_INVALID": "validation",
        "SKILL_BUNDLE_TOO_LARGE": "validation",
        "SKILL_BUNDLE_CONTRACT_INVALID": "validation",
        "SKILL_BUNDLE_FINGERPRINT_MISSING": "validation",
        "SKILL_BUNDLE_FINGERPRINT_MISMATCH": "permission",
        "SKILL_BUNDLE_SOURCE_UNSUPPORTED": "validation",
    }
)
"""The error kind of each code."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One problem and its location; a warning leaves no requested skill out."""

    code: str
    message: str
    hint: str = ""
    severity: Literal["error", "warning", "notice"] = "error"
    locator: str = ""
    """Where it is, safe to print."""
    namespace: str = ""
    name: str = ""
    """The name of the broken skill."""
    details: Mapping[str, Any] = {}


class SkillError(UsageError):
    """A skill cannot be used as requested."""

    def __init__(self, problem: Problem) -> None:
        details = {"code": problem.code, **problem.details}
        super().__init__(problem.message, hint=problem.hint, details=details)
        self.problem = problem
        self.kind = KINDS[problem.code]

    @property
    def code(self) -> str:
        """Return the code of the problem."""
        return self.problem.code

    @property
    def tool_kind(self) -> str:
        """Return the kind as a tool may report it."""
        return self.kind if self.kind in TOOL_KINDS else "validation"


def failure(code: str, message: str, *, hint: str = "", **details: Any) -> SkillError:
    """Build the error for a problem."""
    return SkillError(Problem(code=code, message=message, hint=hint, details=details))


def config_error(code: str, message: str, *, hint: str) -> ConfigError:
    """Build the error for settings that cannot work."""
    return ConfigError(message, hint=hint, details={"code": code})
