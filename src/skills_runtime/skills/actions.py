"""The actions of a skill: which command each is, whether its files are its own, and the digest an approval is for."""

import errno
import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from skills_runtime.skills.problems import SkillError, failure
from skills_runtime.skills.scripts import Entry, entry_of
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.standard.skill_yaml import is_variable
from skills_runtime.storage import error_reason, mode_below, open_directory, relative_parts, walk

ACTIONS = "actions"
"""The field of the front matter that defines actions, and the directory their files are in."""
RUN = "run"
"""The action that a `skill.yaml` is."""
RESERVED = "SKILLS_RUNTIME_SDK_"
"""Variables that only the runtime sets."""
MAX_TIMEOUT_MS = 24 * 60 * 60 * 1000
MAX_WORDS = 1000

_FIELDS = frozenset({"kind", "argv", "timeout_ms", "env"})
_NOTHING = ("", "~", "null", "Null", "NULL", None)
"""How YAML writes that there is nothing."""


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One command that a skill offers, as its front matter defines it."""

    id: str
    argv: tuple[str, ...]
    timeout_ms: int | None = None
    env: Mapping[str, str] = {}
    entry: Entry | None = None
    """Where the skill begins, if this is the skill running by itself: JSON goes in, JSON comes out."""


def action_of(skill: Skill, action_id: str) -> Action:
    """The action of this name."""
    offered = _offered(skill)
    if action_id == RUN and skill.run is not None:
        return _run(skill, defined_twice=RUN in offered)
    if action_id not in offered:
        names = ", ".join(f"`{name}`" for name in action_names(skill))
        raise failure(
            "SKILL_ACTION_NOT_FOUND",
            f"`{skill.mention.text}` has no action {action_id[:80]!a}",
            hint=f"it has: {names}" if names else "it has no actions at all",
            mention=skill.mention.text,
        )
    definition = offered[action_id]
    if not isinstance(definition, dict):
        raise _undefined(skill, action_id, "it must be a mapping")
    return _action(skill, action_id, cast("dict[str, Any]", definition))


def action_names(skill: Skill) -> tuple[str, ...]:
    """The names of all actions of a skill."""
    return tuple(sorted({*_offered(skill), *((RUN,) if skill.run is not None else ())}))


def command_of(skill: Skill, action: Action) -> tuple[str, ...]:
    """The command with the skill's own files in place of their relative paths, each of them looked at now.

    A word with a slash is a path; it must lead to something below `actions/`, and through no link.
    """
    directory = skill.directory
    if directory is None:
        raise failure(
            "SKILL_ACTION_SOURCE_UNSUPPORTED",
            f"`{skill.mention.text}` is not a directory, so it has no actions to run",
            hint="only skills from files have actions",
        )
    if action.entry is not None:
        return (action.entry.program, str(directory / action.entry.file))
    return tuple(
        str(_own_file(skill, directory, word, program=number == 0)) if "/" in word else word
        for number, word in enumerate(action.argv)
    )


def _offered(skill: Skill) -> dict[str, Any]:
    inner = skill.metadata.get("metadata")
    nested = cast("dict[str, Any]", inner).get(ACTIONS) if isinstance(inner, dict) else None
    offered = skill.metadata.get(ACTIONS, nested)
    return cast("dict[str, Any]", offered) if isinstance(offered, dict) else {}


def _run(skill: Skill, *, defined_twice: bool) -> Action:
    if defined_twice:
        raise _undefined(skill, RUN, "its `skill.yaml` and its front matter both define it")
    assert skill.run is not None, "looked at before"
    entry = entry_of(skill)
    return Action(id=RUN, argv=(entry.program, entry.file), timeout_ms=skill.run.timeout_ms, entry=entry)


def _action(skill: Skill, action_id: str, definition: Mapping[str, Any]) -> Action:
    unknown = sorted(definition.keys() - _FIELDS)
    if unknown:
        raise _undefined(skill, action_id, f"it has no field {unknown[0][:80]!a}")
    if definition.get("kind") != "shell":
        raise _undefined(skill, action_id, "its `kind` must be `shell`")
    argv = _texts(definition.get("argv"))
    if not argv or not argv[0] or len(argv) > MAX_WORDS or any("\0" in word for word in argv):
        raise _undefined(skill, action_id, "its `argv` must be a list of texts, a program first")
    return Action(
        id=action_id,
        argv=argv,
        timeout_ms=_timeout(skill, action_id, definition.get("timeout_ms", "")),
        env=_environment(skill, action_id, definition.get("env", "")),
    )


def _texts(value: Any) -> tuple[str, ...]:
    words = cast("list[Any]", value) if isinstance(value, list) else []
    return tuple(words) if all(isinstance(word, str) for word in words) else ()


def _timeout(skill: Skill, action_id: str, value: Any) -> int | None:
    if value in _NOTHING:
        return None
    text = str(value)
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(MAX_TIMEOUT_MS)) else 0
    if not 1 <= number <= MAX_TIMEOUT_MS:
        raise _undefined(skill, action_id, f"its `timeout_ms` must be a number from 1 to {MAX_TIMEOUT_MS}")
    return number


def _environment(skill: Skill, action_id: str, value: Any) -> dict[str, str]:
    if value in _NOTHING:
        return {}
    pairs = cast("dict[Any, Any]", value) if isinstance(value, dict) else {"": ""}
    for name, text in pairs.items():
        if not isinstance(name, str) or not isinstance(text, str) or not is_variable(name) or "\0" in text:
            raise _undefined(skill, action_id, "its `env` must map names of variables to texts")
        if name.startswith(RESERVED):
            raise _undefined(skill, action_id, f"only the runtime sets variables that begin with `{RESERVED}`")
    return dict(pairs)


def _undefined(skill: Skill, action_id: str, why: str) -> SkillError:
    return failure(
        "SKILL_ACTION_DEFINITION_INVALID",
        f"the action `{action_id}` of `{skill.mention.text}` is not defined well: {why}",
        hint="write it as {kind: shell, argv: [...], timeout_ms?, env?}",
        mention=skill.mention.text,
    )


def _own_file(skill: Skill, directory: Path, word: str, *, program: bool) -> Path:
    parts = relative_parts(word.removeprefix("./"))
    if parts is None or parts[0] != ACTIONS or len(parts) == 1:
        raise _escape(skill, word, f"leads out of `{ACTIONS}/`")
    try:
        with open_directory(directory) as top:
            mode = mode_below(top, parts)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _escape(skill, word, "is a link, or there is one on the way to it") from error
        raise _not_usable(skill, word, error_reason(error)) from error
    if not stat.S_ISREG(mode) and (program or not stat.S_ISDIR(mode)):
        raise _not_usable(skill, word, "it is not a file")
    return Path(os.path.join(directory, *parts))


def _escape(skill: Skill, word: str, why: str) -> SkillError:
    return failure(
        "SKILL_ACTION_ARGV_PATH_ESCAPE",
        f"{word[:200]!a} of `{skill.mention.text}` {why}",
        hint=f"paths in `argv` must be files below the skill's own `{ACTIONS}/`; give programs by name",
        mention=skill.mention.text,
    )


def _not_usable(skill: Skill, word: str, why: str) -> SkillError:
    return failure(
        "SKILL_ACTION_ARGV_PATH_INVALID",
        f"{word[:200]!a} of `{skill.mention.text}` cannot be used: {why}",
        hint=f"check the files below `{ACTIONS}/`",
        mention=skill.mention.text,
    )


MAX_FILES = 10_000
MAX_BYTES = 256 << 20


def directory_digest(directory: Path) -> str:
    """One digest of every name, kind, mode and content below a directory; links count as what they say."""
    whole, files, size = hashlib.sha256(), 0, 0
    with open_directory(directory) as top:
        for entry in walk(top):
            content = b""
            if entry.is_link:
                content = os.fsencode(entry.target())
            elif entry.is_file:
                content = entry.read(MAX_BYTES + 1)
            files += 1
            size += len(content)
            if files > MAX_FILES or size > MAX_BYTES:
                raise failure(
                    "SKILL_ACTION_SOURCE_UNSUPPORTED",
                    f"the skill directory `{directory}` is too large to be approved",
                    hint="keep what a skill runs small, and its data elsewhere",
                )
            digest = hashlib.sha256(content).hexdigest()
            line = f"{entry.status.st_mode:o} {digest} {entry.path}\n"
            whole.update(line.encode(errors="surrogateescape"))
    return whole.hexdigest()
