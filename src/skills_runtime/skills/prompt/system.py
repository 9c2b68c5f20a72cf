"""The system text of a run: instructions, then what the user demands, then what there is to work with.

Variables of the texts are filled in one pass, so that nothing filled in is ever filled again.
"""

import os
import re
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from skills_runtime.skills.prompt.profile import Exposure
from skills_runtime.storage import LISTING, open_below, open_directory
from skills_runtime.text import escape_attribute, escape_tags, one_line

VARIABLES = ("task", "cwd", "tools", "skills", "constraints")

_VARIABLE = re.compile(r"\{\{(" + "|".join(VARIABLES) + r")\}\}")


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with its variables replaced; whatever else is in braces stays as it is."""
    return _VARIABLE.sub(lambda match: values[match[1]], text)


def uses(text: str, variable: str) -> bool:
    """Whether the text has a place for a variable."""
    return variable in _VARIABLE.findall(text)


MAX_ENTRIES = 200
MAX_DEPTH = 3
MAX_LOOKED_AT = 10_000
"""How many entries of one directory are looked at before it counts as too large."""

Parts = tuple[str, ...]


class _Entry(msgspec.Struct, frozen=True, order=True):
    parts: Parts
    mark: str


def overview(root: Path) -> str:
    """The visible entries below a directory, one path per line, and a last line when there are more."""
    try:
        with open_directory(Path(os.path.realpath(root))) as top:
            return _overview(top)
    except OSError:
        return "(it cannot be read)"


def _overview(top: int) -> str:
    entries: list[_Entry] = []
    complete = True
    waiting: deque[Parts] = deque([()])
    while waiting:
        here = waiting.popleft()
        found, whole = _inside(top, here)
        room = MAX_ENTRIES - len(entries)
        complete = complete and whole and len(found) <= room
        entries += found[:room]
        directories = [each.parts for each in found[:room] if each.mark == "/"]
        if len(here) + 1 < MAX_DEPTH:
            waiting.extend(directories)
        else:
            complete = complete and not directories
    lines = ["- " + escape_attribute("/".join(entry.parts)) + entry.mark for entry in sorted(entries)]
    return "\n".join(lines if complete else [*lines, "(there is more than this list shows)"])


def _inside(top: int, parts: Parts) -> tuple[list[_Entry], bool]:
    """What a directory has in it, by name, and whether that is all."""
    try:
        fd = open_below(top, parts, LISTING)
    except OSError:
        return [], False
    try:
        with os.scandir(fd) as listing:
            looked_at = list(islice(listing, MAX_LOOKED_AT + 1))
            visible = [entry for entry in looked_at[:MAX_LOOKED_AT] if not entry.name.startswith(".")]
            found = sorted(_Entry((*parts, entry.name), _mark(entry)) for entry in visible)
    finally:
        os.close(fd)
    return found, len(looked_at) <= MAX_LOOKED_AT


def _mark(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "@"
    return "/" if entry.is_dir(follow_symlinks=False) else ""


DEVELOPER = "[Developer Policy]"
CONSTRAINTS = "[Constraints]"
_WORD = "[A-Za-z0-9_-]"


class Texts(msgspec.Struct, frozen=True, kw_only=True):
    """What a system text is made of; the templates may have places for the rest."""

    system: str
    developer: str
    task: str
    constraints: str
    tools: Sequence[str]
    skills: str
    """The list of available skills."""
    list_skills: bool
    """Whether that list is shown even where no template has a place for it."""


def system_text(texts: Texts, cwd: Path, *, show_tree: bool) -> str:
    """The whole text; a list or a constraint appears once, where a template wants it or else at the end."""
    values = {
        "task": texts.task,
        "cwd": escape_tags(one_line(str(cwd))),
        "tools": "\n".join(f"- {name}" for name in texts.tools),
        "skills": texts.skills,
        "constraints": texts.constraints,
    }
    sections = [filled(texts.system, values)]
    if texts.constraints and not _places(texts, "constraints"):
        sections.append(f"{CONSTRAINTS}\n{texts.constraints}")
    if texts.developer:
        sections.append(f"{DEVELOPER}\n{filled(texts.developer, values)}")
    if texts.list_skills and not _places(texts, "skills"):
        sections.append(texts.skills)
    if show_tree:
        sections.append(_tree(values, cwd))
    filled_in = [section for section in sections if section.strip()]
    if len(filled_in) == 1:
        return filled_in[0]  # as the user wrote it
    return "\n".join(f"{section.strip()}\n" for section in filled_in)


def offered_tools(exposure: Exposure, task: str, names: Sequence[str]) -> frozenset[str] | None:
    """The names of the tools to offer, or nothing when that is all of them."""
    if exposure == "all":
        return None
    if exposure == "none":
        return frozenset()
    return frozenset(name for name in names if re.search(f"(?<!{_WORD}){re.escape(name)}(?!{_WORD})", task))


def _places(texts: Texts, variable: str) -> bool:
    return uses(texts.system, variable) or uses(texts.developer, variable)


def _tree(values: Mapping[str, str], cwd: Path) -> str:
    entries = overview(cwd) or "(it is empty)"
    return f"The working directory `{values['cwd']}`, links marked with `@`:\n{entries}"
