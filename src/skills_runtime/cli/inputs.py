"""What was typed, checked and read: settings, paths, the task of a run, and answers."""

import sys
from collections.abc import Iterable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

from skills_runtime.cli.errors import Misuse
from skills_runtime.cli.options import ConfigOptions
from skills_runtime.config import Resolved, resolve
from skills_runtime.config.files import parse_mapping
from skills_runtime.config.merge import deep_merge, nest_value
from skills_runtime.config.resolve import KGENT_DEFAULTS
from skills_runtime.errors import AccessRefused, NotFound, UsageError, ValidationFailed

MAX_BYTES = 4 << 20
WAYS = ("PROMPT", "--prompt", "--prompt-file")


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
    return nest_value(key.strip(), parse_mapping(block, Path(f"--set {key}")).get("value"))


def read_prompt(argument: str | None, option: str | None, file: str | None) -> str:
    """The text of the one way that was used."""
    given = {way: value for way, value in zip(WAYS, (argument, option, file), strict=True) if value is not None}
    if len(given) != 1:
        what = f"the task is given by {' and by '.join(f'`{way}`' for way in given)}" if given else "no task was given"
        raise Misuse(f"{what}; give it once, as `PROMPT`, `--prompt TEXT` or `--prompt-file FILE`")
    ((way, value),) = given.items()
    text = read_text(value) if way == "--prompt-file" else checked_text(value, way)
    if not text.strip():
        raise ValidationFailed("the task is empty", hint="say what should be done")
    return text


def read_words(text: str, option: str) -> str:
    """What somebody says to a run: the argument itself, or stdin when it is `-`."""
    return read_text(text).rstrip("\r\n") if text == "-" else checked_text(text, option)


def read_text(name: str, *, option: str = "--prompt-file") -> str:
    """The text in a file, or on stdin when its name is `-`."""
    data = sys.stdin.buffer.read(MAX_BYTES + 1) if name == "-" else _read_file(name, option)
    if len(data) > MAX_BYTES:
        raise ValidationFailed(f"`{name}` is larger than {MAX_BYTES} bytes", hint="put the data into a file of its own")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValidationFailed(f"`{name}` is not UTF-8 text (byte {error.start})", hint="save it as UTF-8") from None


def _read_file(name: str, option: str) -> bytes:
    path = checked_path(name, option=option)
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _explained(name, error) from error


def _explained(name: str, error: OSError) -> UsageError:
    if isinstance(error, FileNotFoundError):
        return NotFound(f"`{name}` does not exist", hint="check the path")
    if isinstance(error, PermissionError):
        return AccessRefused(f"`{name}` may not be read by this user", hint="change its permissions")
    return ValidationFailed(f"`{name}` cannot be read: {error.strerror}", hint="name an ordinary file")


def checked_text(text: str, option: str) -> str:
    """Text somebody typed, or a refusal of bytes that are no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValidationFailed(f"what `{option}` was given is not UTF-8 text", hint="check its encoding") from None
    return text


def checked_path(text: str, *, option: str) -> Path:
    """A path somebody typed, or a refusal of what can be none."""
    if not checked_text(text, option).strip() or "\0" in text:
        raise ValidationFailed(f"`{option}` does not name a usable path", hint="give the path of a file or directory")
    return Path(text)
