"""The skills of a run: found once, when first asked for, and looked up by name after that."""

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.skills.mentions import mentions_in
from skills_runtime.skills.problems import Problem, SkillError, failure
from skills_runtime.skills.skill import Mention, Skill
from skills_runtime.skills.sources import Report, Source
from skills_runtime.skills.unknown import duplicate, not_configured, unknown

EnvPolicy = Literal["fail_fast", "ask_human", "skip_skill"]


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for every skill of a library."""

    env_var_missing_policy: EnvPolicy = "ask_human"
    max_body_bytes: int | None = None
    """The longest text of one skill that goes into a prompt."""


class Library:
    """Skills by name; one library is one search, so a run sees the same skills from its beginning to its end.

    Skills that share a name are left out and cannot be mentioned; all others work.
    """

    def __init__(
        self,
        sources: Iterable[Source] = (),
        *,
        rules: Rules | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.rules = rules or Rules()
        self._sources = tuple(sources)
        self._environment = dict(environment or {})
        self._left_out: tuple[Path, ...] = ()

    def without(self, paths: Iterable[Path]) -> "Library":
        """The same skills less those at or below these paths, whose names are free then; the search is made anew."""
        less = Library(self._sources, rules=self.rules, environment=self._environment)
        less._left_out = (*self._left_out, *(Path(os.path.realpath(path)) for path in paths))
        return less

    def list(self) -> tuple[Skill, ...]:
        """Every skill that can be mentioned, by namespace and name."""
        return self._listed

    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with skills that were found, and with places that were searched."""
        twice = (duplicate(skills) for _, skills in sorted(self._by_name.items()) if len(skills) > 1)
        return (*(problem for report in self._reports for problem in report.problems), *twice)

    def find(self, mention: Mention) -> Skill:
        """The skill that is mentioned; a mention that names nothing, or two things, is an error."""
        skills = self._by_name.get(mention, ())
        if len(skills) == 1:
            return skills[0]
        if skills:
            raise SkillError(duplicate(skills))
        namespaces = {source.origin.namespace for source in self._sources}
        if mention.namespace not in namespaces:
            raise not_configured(mention, namespaces)
        raise unknown(mention, self._by_name, self.problems())

    def resolve(self, text: str) -> tuple[Skill, ...]:
        """The skills that free text mentions, each once, in the order of their first mention."""
        return tuple(self.find(mention) for mention in mentions_in(text))

    def body(self, skill: Skill) -> str:
        """The Markdown of a skill."""
        for source in self._sources:
            if (source.origin.space_id, source.origin.source_id) == (skill.space_id, skill.source_id):
                return source.body(skill)
        raise failure("SKILL_BODY_READ_FAILED", f"`{skill.mention.text}` is not a skill of this library")

    def give(self, variable: str, value: str) -> None:
        """Set an environment variable for the skills that declare it; it is kept in memory only."""
        self._environment[variable] = value

    def variables(self, skill: Skill) -> dict[str, str]:
        """The environment variables that a skill declares and that are set."""
        return {name: self._environment[name] for name in skill.required_env_vars if self._environment.get(name)}

    def missing(self, skill: Skill) -> tuple[str, ...]:
        """The environment variables that a skill declares and that are not set, or empty."""
        return tuple(name for name in skill.required_env_vars if not self._environment.get(name))

    @cached_property
    def _reports(self) -> tuple[Report, ...]:
        return tuple(self._less(source.skills()) for source in self._sources)

    def _less(self, report: Report) -> Report:
        if not self._left_out:
            return report
        return Report(
            tuple(skill for skill in report.skills if skill.path is None or not self._leaves_out(skill.path)),
            tuple(one for one in report.problems if not self._leaves_out(Path(one.locator))),
        )

    def _leaves_out(self, path: Path) -> bool:
        return any(path.is_relative_to(one) for one in self._left_out)

    @cached_property
    def _by_name(self) -> dict[Mention, tuple[Skill, ...]]:
        found: dict[Mention, tuple[Skill, ...]] = {}
        for report in self._reports:
            for skill in report.skills:
                found[skill.mention] = (*found.get(skill.mention, ()), skill)
        return found

    @cached_property
    def _listed(self) -> tuple[Skill, ...]:
        return tuple(skills[0] for _, skills in sorted(self._by_name.items()) if len(skills) == 1)
