"""What skills themselves declare about when they apply: words that call them, and files they are for.

Pure. A declared trigger is taken literally; of several in one task the longest counts. Globs are those of `.gitignore`.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.skills.catalog.fields import model_may_call
from skills_runtime.skills.routing.documents import texts_in
from skills_runtime.skills.skill import Skill

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MIN_TRIGGER_CHARS = 2
MAX_TRIGGERS = 100
"""How many triggers, and how many globs, of one skill count."""
MAX_PATHS = 200

_SEPARATORS = re.compile(r"[,，;；\n](?![^{}\n]{0,200}\})")
"""What stands between two of them; a comma in braces is part of a glob."""
_TOKEN = re.compile(r"[^\s\"'`<>()\[\]{},;，。；：、（）]+")
_PATH = re.compile(r"[\w@+./-]*[\w@+-]\.[A-Za-z][A-Za-z0-9]{0,9}")
_MAX_PATH_CHARS = 300


class FileMatch(msgspec.Struct, frozen=True):
    """A file that a skill is for, and the glob that says so."""

    path: str
    glob: str


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """What skills say of when they apply; a skill is known by its place among them."""

    hidden: frozenset[int]
    """Those that the model may not call."""
    triggers: dict[int, tuple[str, ...]]
    globs: dict[int, tuple[str, ...]]


def declared_by(skills: Sequence[Skill]) -> Declared:
    """What these skills declare."""
    saying = [(place, skill) for place, skill in enumerate(skills) if skill.metadata]
    triggers = ((place, _declared(skill, "triggers", "trigger")) for place, skill in saying)
    globs = ((place, _declared(skill, "paths", "globs")) for place, skill in saying)
    return Declared(
        hidden=frozenset(place for place, skill in saying if not model_may_call(skill)),
        triggers={place: found for place, found in triggers if found},
        globs={place: found for place, found in globs if found},
    )


def trigger_in(task: str, triggers: Sequence[str]) -> str:
    """The longest of the triggers that stands in the task, or nothing."""
    small = task.casefold()
    long_enough = (one for one in triggers if len(one) >= MIN_TRIGGER_CHARS)
    present = [one for one in long_enough if one.casefold() in small and _stands_alone(one.casefold(), small)]
    return max(present, key=len, default="")


def file_match(paths: Sequence[str], globs: Sequence[str]) -> FileMatch | None:
    """The first of the files that one of the globs means."""
    for path in paths[:MAX_PATHS]:
        for glob in globs:
            if _spec(glob).match_file(path.removeprefix("./").lstrip("/")):
                return FileMatch(path, glob)
    return None


def paths_in(task: str) -> list[str]:
    """What reads like the name of a file in a task."""
    tokens = (token.rstrip(".:!?") for token in _TOKEN.findall(task) if "." in token and len(token) <= _MAX_PATH_CHARS)
    return list(dict.fromkeys(token for token in tokens if _PATH.fullmatch(token)))[:MAX_PATHS]


def _declared(skill: Skill, *fields: str) -> tuple[str, ...]:
    pieces = (
        piece.strip().strip("\"'") for text in texts_in(skill.metadata, *fields) for piece in _SEPARATORS.split(text)
    )
    return tuple(dict.fromkeys(piece for piece in pieces if piece))[:MAX_TRIGGERS]


def _stands_alone(trigger: str, text: str) -> bool:
    """Whether the trigger is there as a word of its own; scripts without spaces have no such words."""
    start = "(?<![a-z0-9_])" if trigger[0].isascii() and trigger[0].isalnum() else ""
    end = "(?![a-z0-9_])" if trigger[-1].isascii() and trigger[-1].isalnum() else ""
    return re.search(f"{start}{re.escape(trigger)}{end}", text) is not None


@lru_cache(maxsize=4096)
def _spec(glob: str) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(_braces_apart(glob))


def _braces_apart(glob: str) -> list[str]:
    """One glob for each choice in its first pair of braces, which `.gitignore` does not know."""
    match = re.search(r"\{([^{}]*)\}", glob)
    if match is None:
        return [glob]
    return [glob[: match.start()] + one.strip() + glob[match.end() :] for one in match[1].split(",")[:50]]
