"""How the list of skills is written: as lines for people, as JSON for programs."""

from collections import Counter
from typing import TextIO

import msgspec

from skills_runtime.cli.render.text import one_line, plural
from skills_runtime.cli.skill_listing import SkillList
from skills_runtime.cli.skill_watching import SkillChange

_DESCRIPTION_CHARS = 100


def write_list(found: SkillList, out: TextIO) -> None:
    """Write the list for programs."""
    out.write(msgspec.json.format(msgspec.json.encode(found)).decode() + "\n")


def show_list(found: SkillList, out: TextIO) -> None:
    """Write the list for a person."""
    if not found.skills:
        out.write("no skills found; `skills new NAME` begins one\n")
    for skill in found.skills:
        out.write(f"{skill.state:9} {one_line(skill.mention or skill.name)}\n")
        _about(skill.reason or skill.description, skill.path, out)
    for problem in found.problems:
        out.write(f"{problem.severity}: {one_line(problem.message)}\n")
        if problem.locator and problem.locator not in problem.message:
            out.write(f"  at {one_line(problem.locator)}\n")
        if problem.hint:
            out.write(f"  hint: {one_line(problem.hint)}\n")
    if len(found.skills) > 1:
        numbers = Counter(skill.state for skill in found.skills)
        states = ", ".join(f"{number} {state}" for state, number in sorted(numbers.items()))
        out.write(f"{plural(len(found.skills), 'skill')}: {states}\n")


def write_change(change: SkillChange, out: TextIO) -> None:
    """Write one change for programs: one line, at once."""
    out.write(msgspec.json.encode(change).decode() + "\n")
    out.flush()


def show_change(change: SkillChange, out: TextIO) -> None:
    """Write one change for a person, at once."""
    out.write(f"{change.change:9} {one_line(change.mention or change.name or change.path)}\n")
    _about(change.reason or change.description, change.path, out)
    out.flush()


def _about(text: str, path: str, out: TextIO) -> None:
    """What a skill does or what is wrong with it, as far as there is room, and where it is."""
    said = one_line(text)
    if said:
        out.write(f"          {said[:_DESCRIPTION_CHARS] + ('…' if len(said) > _DESCRIPTION_CHARS else '')}\n")
    out.write(f"          {one_line(path)}\n")
