"""The system text of a run: instructions, then what the user demands, then what there is to work with."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from skills_runtime.skills.prompt.profile import Exposure
from skills_runtime.skills.prompt.template import filled, uses
from skills_runtime.skills.prompt.tree import overview
from skills_runtime.text import escape_tags, one_line

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
