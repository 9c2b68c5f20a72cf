"""Diagnostics of skills: stable codes, their severity in each mode, and hints."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import msgspec

Mode = Literal["strict", "lenient"]
Severity = Literal["error", "warning", "info"]


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """One diagnostic; an error makes the skill unusable."""

    code: str
    severity: Severity
    message: str
    hint: str = ""
    line: int | None = None
    """Line in the file, from one."""
    column: int | None = None
    file: str = "SKILL.md"
    """Name of the file."""


class _Rule(msgspec.Struct, frozen=True):
    """Severity in each mode, and the hint."""

    strict: Severity
    lenient: Severity
    hint: str


RULES: Mapping[str, _Rule] = MappingProxyType(
    {
        "path_missing": _Rule("error", "error", "check the path"),
        "not_a_directory": _Rule("error", "error", "name the directory that holds `SKILL.md`"),
        "file_missing": _Rule("error", "error", "`skills new` makes a skill to begin with"),
        "file_name": _Rule("error", "warning", "rename it to `SKILL.md`"),
        "file_unreadable": _Rule("error", "error", "check the file and who may read it"),
        "not_utf8": _Rule("error", "warning", "save the file as UTF-8"),
        "frontmatter_missing": _Rule("error", "error", "begin the file with a line of `---`, fields and another `---`"),
        "frontmatter_moved": _Rule("error", "warning", "put the line of `---` at the very beginning of the file"),
        "frontmatter_unclosed": _Rule("error", "error", "end the fields with a line of exactly `---`"),
        "frontmatter_fence": _Rule("error", "warning", "put a line of exactly `---` before and behind the fields"),
        "frontmatter_too_long": _Rule("error", "error", "shorten it, or raise `skills.scan.max_frontmatter_bytes`"),
        "not_a_mapping": _Rule("error", "error", "write fields as `name: value`, one on a line"),
        "yaml_invalid": _Rule("error", "error", "put texts with a colon in quotes, and indent by spaces"),
        "yaml_repaired": _Rule("error", "warning", "put the text in quotes"),
        "duplicate_key": _Rule("warning", "warning", "keep only one of them"),
        "byte_order_mark": _Rule("info", "info", "save the file as UTF-8 without a byte order mark"),
        "name_missing": _Rule("error", "error", "add `name:` with the name of the directory"),
        "name_taken_from_directory": _Rule("error", "warning", "add `name:` with the name of the directory"),
        "name_changed": _Rule("error", "warning", "use small letters, digits and single hyphens"),
        "name_type": _Rule("error", "warning", "write the name as text"),
        "name_too_long": _Rule("error", "warning", "use at most 64 characters"),
        "name_not_lowercase": _Rule("error", "warning", "use small letters"),
        "name_hyphen_at_edge": _Rule("error", "warning", "begin and end it with a letter or digit"),
        "name_consecutive_hyphens": _Rule("error", "warning", "use single hyphens"),
        "name_invalid_characters": _Rule("error", "warning", "use small letters, digits and single hyphens"),
        "name_directory_mismatch": _Rule("error", "warning", "rename the directory or the skill"),
        "description_missing": _Rule("error", "error", "say in one or two sentences what it does and when to use it"),
        "description_taken_from_body": _Rule("error", "warning", "add `description:` to the front matter"),
        "description_type": _Rule("error", "warning", "write it as text"),
        "description_too_long": _Rule("error", "warning", "say it in at most 1024 characters"),
        "field_spelling": _Rule("error", "warning", "write the names of fields in small letters"),
        "license_type": _Rule("error", "info", "write the name of the license, or of a file that holds it"),
        "compatibility_type": _Rule("error", "info", "write it as text"),
        "compatibility_empty": _Rule("error", "info", "leave the field out"),
        "compatibility_too_long": _Rule("error", "info", "say it in at most 500 characters"),
        "metadata_type": _Rule("error", "info", "write it as `name: text`, one on a line"),
        "metadata_value_type": _Rule("error", "info", "make it a text, in quotes if need be"),
        "allowed_tools_type": _Rule("error", "info", "write the tools on one line, with spaces between them"),
        "allowed_tools_commas": _Rule("warning", "info", "put only spaces between tools"),
        "unexpected_fields": _Rule("error", "info", "put them below `metadata:`"),
        "body_long": _Rule("info", "info", "move details into files below `references/`"),
        "body_not_utf8": _Rule("error", "error", "save the file as UTF-8"),
        "run_invalid": _Rule("error", "error", 'write {"name": …, "runtime": {"type": "python"}}, as JSON or YAML'),
        "run_field": _Rule("error", "error", "correct the field"),
        "run_artifact_outside": _Rule("error", "warning", "name files below the directory of the skill"),
        "run_name_unusual": _Rule("warning", "warning", "use 2 to 64 small letters, digits, `-` and `_`"),
        "run_name_mismatch": _Rule("error", "error", "give both files the same name"),
        "run_entry_missing": _Rule("error", "warning", "add the file"),
        "run_unknown_fields": _Rule("warning", "info", "check how they are spelled"),
    }
)  # fmt: skip
"""All codes."""


def diagnose(code: str, mode: Mode, message: str, *, line: int | None = None, column: int | None = None) -> Diagnostic:
    """Build a diagnostic with the severity of the mode."""
    rule = RULES[code]
    severity = rule.strict if mode == "strict" else rule.lenient
    return Diagnostic(code=code, severity=severity, message=message, hint=rule.hint, line=line, column=column)


def is_fatal(diagnostics: tuple[Diagnostic, ...] | list[Diagnostic]) -> bool:
    """Return whether any diagnostic is an error."""
    return any(diagnostic.severity == "error" for diagnostic in diagnostics)
