"""The skills that can be executed by name: one directory, looked at anew whenever somebody asks."""

import os
from pathlib import Path

import msgspec

from skills_runtime.skills import FilesystemSource, Origin, Problem, ScanOptions, Skill, SkillError
from skills_runtime.skills.index.source import IndexedSource
from skills_runtime.skills.scripts import entry_of
from skills_runtime.skills.standard.skill_yaml import FILE_NAME as RUN_FILE

NAMESPACE = "local"
DEPTH = 1
"""A skill is a directory in the directory of skills, and nothing deeper."""


class Listing(msgspec.Struct, frozen=True):
    """The skills that can be executed, and what is wrong with others."""

    skills: tuple[Skill, ...]
    errors: tuple[str, ...]


class SkillRegistry:
    """Executable skills below one directory; a new or changed one is seen at once, by every worker alike."""

    def __init__(self, root: Path) -> None:
        files = FilesystemSource(Origin(NAMESPACE, NAMESPACE, "skills-dir"), root, ScanOptions(max_depth=DEPTH))
        self._source = IndexedSource(files, None)

    def listing(self) -> Listing:
        """Everything there is now, by the names of the directories."""
        found = self._found()
        ready, errors = list[Skill](), list(found.errors)
        for skill in found.skills:
            try:
                entry_of(skill)
            except SkillError as error:
                errors.append(f"{_directory_name(skill)}: {error.message}")
            else:
                ready.append(skill)
        return Listing(tuple(ready), tuple(sorted(errors)))

    def _found(self) -> Listing:
        """All definitions, each of which may still lack its program."""
        report = self._source.skills()
        first: dict[str, Skill] = {}
        errors = [_told(problem) for problem in report.problems if _concerns_execution(problem)]
        for skill in sorted(report.skills, key=_directory_name):
            if skill.run is None:
                continue
            known = first.setdefault(skill.run.name, skill)
            if known is not skill:
                errors.append(f"{_directory_name(skill)}: the name `{skill.run.name}` is that of another skill already")
        return Listing(tuple(first.values()), tuple(errors))

    def find(self, name: str) -> Skill | None:
        """The skill of this name: as its `skill.yaml` says it, or as a mention such as `$[local].name`.

        One without a program is found too: whoever executes it is told what it lacks.
        """
        wanted = name.removeprefix(f"$[{NAMESPACE}].")
        for skill in self._found().skills:
            if skill.run is not None and skill.run.name == wanted:
                return skill
        return None


def _directory_name(skill: Skill) -> str:
    return skill.directory.name if skill.directory else skill.name


def _concerns_execution(problem: Problem) -> bool:
    """Whether somebody meant the directory to be executed; others are no business of whoever executes skills."""
    about_skill = problem.code == "SKILL_SCAN_METADATA_INVALID"
    return problem.severity != "notice" and (not about_skill or os.path.lexists(Path(problem.locator, RUN_FILE)))


def _told(problem: Problem) -> str:
    message = problem.message.removeprefix("the skill cannot be used: ")
    return f"{problem.name or Path(problem.locator).name}: {message}"
