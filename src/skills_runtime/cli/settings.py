"""Settings of a command: the files and values on its command line, over everything else that is configured."""

from collections.abc import Iterable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

from skills_runtime.cli.machine import checked_path, checked_text
from skills_runtime.cli.options import ConfigOptions
from skills_runtime.config import Resolved, resolve
from skills_runtime.config.files import parse_mapping
from skills_runtime.config.merge import deep_merge, planted
from skills_runtime.config.resolve import KGENT_DEFAULTS
from skills_runtime.errors import ValidationFailed


def resolve_settings(
    given: ConfigOptions,
    *,
    program: str,
    chosen: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Resolved:
    """Everything configured for the workspace; `chosen` are settings with an option of their own."""
    return resolve(
        checked_path(given.workspace_root, option="--workspace-root"),
        config_paths=[checked_path(path, option="--config") for path in given.files],
        session_settings=deep_merge(chosen or {}, parse_assignments(given.assignments)),
        environ=environ,
        defaults=KGENT_DEFAULTS if program == "kgent" else None,
    )


def parse_assignments(assignments: Iterable[str]) -> dict[str, Any]:
    """The tree that assignments such as `run.max_steps=5` amount to; values are YAML."""
    return reduce(deep_merge, map(_planted, assignments), dict[str, Any]())


def parse_answers(assignments: Iterable[str]) -> dict[str, str]:
    """The answers that assignments such as `colour=blue` amount to; each is text as it stands."""
    answers: dict[str, str] = {}
    for assignment in assignments:
        name, separator, text = checked_text(assignment, "--set").partition("=")
        if not separator or not name:
            raise ValidationFailed(f"`--set {assignment}` does not answer anything", hint="write `--set ID=TEXT`")
        if name in answers:
            raise ValidationFailed(f"`{name}` is answered twice", hint="give each answer once")
        answers[name] = text
    return answers


def _planted(assignment: str) -> dict[str, Any]:
    key, separator, text = assignment.partition("=")
    if not separator or not key.strip():
        raise ValidationFailed(f"`--set {assignment}` does not assign anything", hint="write `--set KEY=VALUE`")
    checked_text(assignment, "--set")
    # On a line of its own the value may be anything YAML knows, a mapping or a list too.
    block = "value:\n  " + text.replace("\n", "\n  ")
    return planted(key.strip(), parse_mapping(block, Path(f"--set {key}")).get("value"))
