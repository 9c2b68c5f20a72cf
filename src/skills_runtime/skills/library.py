"""The skills of a run: found once, when first asked for, and looked up by name after that.

A bare name that several skills have means the nearest of them, and never one of two that are equally near. Skills of a
plugin are only ever called by their plugin's name as well, so nothing hides them.
"""

import difflib
import heapq
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.skills.problems import Problem, SkillError, failure
from skills_runtime.skills.skill import Mention, Skill, mentions_in
from skills_runtime.skills.sources import Report, Source
from skills_runtime.skills.sources.source import ChangeDetecting, Watchable

DISCOVERED = "discovered"
"""The space of every skill that nobody named in the settings."""
PLUGIN_LEVEL = 1_000_000
"""The level of plugins, below everything else."""


_SUGGESTIONS = 3
_MAX_COMPARED = 100
"""How many names are compared letter by letter."""


class Namesakes(msgspec.Struct, frozen=True):
    """What becomes of the skills that share a name."""

    nearest: Sequence[Skill]
    """The one that the name means; several are equally near, and then it means none of them."""
    hidden: Sequence[Skill] = ()
    """Those that are there but not offered."""


def rank_namesakes(skills: Iterable[tuple[int, Skill]]) -> Namesakes:
    """What becomes of skills with one name, each with its level."""
    ranked = sorted(skills, key=lambda pair: pair[0])
    nearest_level = ranked[0][0]
    nearest = [skill for level, skill in ranked if level == nearest_level]
    hidden = [skill for level, skill in ranked if nearest_level < level < PLUGIN_LEVEL]
    if nearest_level > 0 and len({skill.content_hash for skill in nearest}) == 1 and nearest[0].content_hash:
        nearest, copies = nearest[:1], nearest[1:]
        hidden = [*(copy for copy in copies if nearest_level < PLUGIN_LEVEL), *hidden]
    return Namesakes(nearest, hidden)


def find_namesake_problems(namesakes: Mapping[str, Namesakes]) -> Iterable[Problem]:
    """What somebody should know about shared names."""
    for name, group in sorted(namesakes.items()):
        if len(group.nearest) > 1 and any(skill.space_id == DISCOVERED for skill in group.nearest):
            yield build_ambiguous_name(name, group.nearest)
        for skill in group.hidden:
            first = group.nearest[0]
            same = skill.content_hash != "" and skill.content_hash == first.content_hash
            relation = "is a copy of" if same else "is hidden by"
            yield Problem(
                code="SKILL_SHADOWED",
                message=f"`{skill.mention.text}` {relation} `{first.mention.text}` ({first.locator})",
                hint=f"`{skill.mention.text}` still calls it",
                severity="notice",
                locator=skill.locator,
                namespace=skill.namespace,
                name=skill.name,
                details={"by": first.mention.text, "by_locator": first.locator},
            )


def build_ambiguous_name(name: str, skills: Sequence[Skill]) -> Problem:
    """The problem with a name that several skills have and that are equally near."""
    mentions = list(dict.fromkeys(skill.mention.text for skill in skills))
    return Problem(
        code="SKILL_NAME_AMBIGUOUS",
        message=f"`{name}` is the name of {len(skills)} skills: {', '.join(skill.locator for skill in skills)}",
        hint=f"say which: {' or '.join(f'`{mention}`' for mention in mentions)}",
        severity="warning",
        name=name,
        details={"mentions": mentions, "locators": [skill.locator for skill in skills]},
    )


def unknown_name_error(name: str, names: Iterable[str], problems: Iterable[Problem]) -> SkillError:
    """The error for a name that no usable skill has."""
    known_problems = list(problems)
    broken = next((problem for problem in known_problems if problem.severity == "error" and problem.name == name), None)
    if broken is not None:
        message = f"`{name}` cannot be used ({broken.locator}): {broken.message}"
        return SkillError(msgspec.structs.replace(broken, message=message))
    untrusted = next((problem for problem in known_problems if problem.code == "SKILL_FOLDER_UNTRUSTED"), None)
    hint = suggest(name, sorted(names)) or (untrusted.hint if untrusted else "`skills list` shows every skill there is")
    return failure("SKILL_UNKNOWN", f"there is no skill `{name}`", hint=hint, mention=name)


def unknown_mention_error(mention: Mention, names: Collection[Mention], problems: Iterable[Problem]) -> SkillError:
    """The error for a name in a known namespace that no usable skill has."""
    errors = [problem for problem in problems if problem.severity == "error" and problem.namespace == mention.namespace]
    broken = next((error for error in errors if error.name == mention.name), None)
    if broken is not None:
        message = f"`{mention.text}` cannot be used ({broken.locator}): {broken.message}"
        return SkillError(msgspec.structs.replace(broken, message=message))
    unavailable = next((problem for problem in errors if problem.code == "SKILL_SCAN_SOURCE_UNAVAILABLE"), None)
    detail = f"; {unavailable.message} ({unavailable.locator})" if unavailable is not None else ""
    return failure(
        "SKILL_UNKNOWN",
        f"there is no skill `{mention.text}`{detail}",
        hint=suggest(mention.text, [name.text for name in sorted(names)]) or "check the name of the skill",
        mention=mention.text,
    )


def unknown_namespace_error(mention: Mention, namespaces: Iterable[str]) -> SkillError:
    """The error for a namespace that no space has."""
    return failure(
        "SKILL_SPACE_NOT_CONFIGURED",
        f"`{mention.text}` names a namespace that no space has",
        hint=suggest(mention.namespace, sorted(set(namespaces))) or "add a space for it to `skills.spaces`",
        mention=mention.text,
    )


def build_duplicate_name(skills: Collection[Skill]) -> Problem:
    """The problem with skills of the same name."""
    first, *_ = skills
    locators = [skill.locator for skill in skills]
    return Problem(
        code="SKILL_DUPLICATE_NAME",
        message=f"`{first.mention.text}` is the name of {len(locators)} skills: {', '.join(locators)}",
        hint="rename all but one of them, or put them into spaces of their own",
        namespace=first.namespace,
        name=first.name,
        details={"locators": locators},
    )


def suggest(wrong: str, names: list[str]) -> str:
    """A question whether one of the known names was meant, or nothing where none is like it."""
    if len(names) > _MAX_COMPARED:  # comparing letter by letter is too slow for thousands
        pieces = {wrong[start : start + 3] for start in range(len(wrong) - 2)}
        names = heapq.nlargest(_MAX_COMPARED, names, key=lambda name: sum(piece in name for piece in pieces))
    close = difflib.get_close_matches(wrong, names, n=_SUGGESTIONS)
    return f"did you mean {' or '.join(f'`{match}`' for match in close)}?" if close else ""


def drop_oversized(report: Report, body: Callable[[Skill], str], max_bytes: int) -> Report:
    """The report without the skills whose text is too long; only files that may be are read."""
    usable: list[Skill] = []
    problems: list[Problem] = []
    for skill in report.skills:
        size = 0
        try:
            if skill.file and Path(skill.file).stat().st_size > max_bytes:
                size = len(body(skill).encode())
        except (OSError, SkillError):
            pass  # what cannot be read is told of when somebody calls it
        if size <= max_bytes:
            usable.append(skill)
            continue
        problem = Problem(
            code="SKILL_BODY_TOO_LARGE",
            message=f"the skill cannot be used: its text is too large, with {size} bytes where {max_bytes} are allowed",
            hint="make it shorter, raise `skills.injection.max_bytes`, or set `prompt.skill_injection.render: summary`",
            locator=skill.locator,
            namespace=skill.namespace,
            name=skill.name,
        )
        problems.append(problem)
    return Report(tuple(usable), (*report.problems, *problems)) if problems else report


EnvPolicy = Literal["fail_fast", "ask_human", "skip_skill"]


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for every skill of a library."""

    env_var_missing_policy: EnvPolicy = "ask_human"
    max_body_bytes: int | None = None
    """The longest text of one skill that goes into a prompt."""
    whole_texts: bool = True
    """Whether texts go into a prompt whole, so that a skill with a longer one is of no use."""
    catalog_tokens: int | None = None
    """How long the list of skills may be that a model is told of; nothing means the usual share of a window."""


class NameIndex(msgspec.Struct, frozen=True):
    """The skills of one search, by their names."""

    by_namespace: Mapping[str, Mapping[str, Skill]]
    """By namespace and name; of skills that share both, the first."""
    duplicates: Mapping[Mention, tuple[Skill, ...]]
    """Those that share both."""
    shared: Mapping[str, Namesakes]
    """What becomes of skills that share their name with one of another namespace."""
    by_name: Mapping[str, Skill]
    """A skill of every name there is."""


class Library:
    """Skills by name; one library is one search, until somebody has it look again.

    Skills that share a namespace and a name are left out and cannot be mentioned; all others work.
    """

    def __init__(
        self,
        sources: Iterable[Source] = (),
        *,
        rules: Rules | None = None,
        environment: Mapping[str, str] | None = None,
        notes: Iterable[Problem] = (),
    ) -> None:
        self.rules = rules or Rules()
        self._sources = tuple(sources)
        self._notes = tuple(notes)
        self._environment = dict(environment or {})
        self._excluded: tuple[Path, ...] = ()
        self._only: frozenset[str] | None = None

    @property
    def has_sources(self) -> bool:
        """Whether there is any place where skills may be found."""
        return bool(self._sources)

    @property
    def notes(self) -> tuple[Problem, ...]:
        """What was found out about places before any was searched."""
        return self._notes

    def without(self, paths: Iterable[Path]) -> "Library":
        """The same skills less those at or below these paths, whose names are free then; the search is made anew."""
        narrowed = Library(self._sources, rules=self.rules, environment=self._environment, notes=self._notes)
        narrowed._excluded = (*self._excluded, *(Path(os.path.realpath(path)) for path in paths))
        narrowed._only = self._only
        return narrowed

    def only(self, names: Iterable[str]) -> "Library":
        """Those of the skills that these names or mentions name; the search is made anew."""
        narrowed = self.without(())
        narrowed._only = frozenset(names) if self._only is None else self._only & frozenset(names)
        return narrowed

    def list(self) -> tuple[Skill, ...]:
        """Every skill that is offered, by namespace and name; one that a nearer one hides is not."""
        return self._available

    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with skills that were found, and with places that were searched."""
        duplicates = (build_duplicate_name(skills) for _, skills in sorted(self._by_name.duplicates.items()))
        of_reports = (problem for report in self._reports for problem in report.problems)
        return (*self._notes, *of_reports, *duplicates, *find_namesake_problems(self._by_name.shared))

    def all(self) -> tuple[Skill, ...]:
        """Every skill that was found: those that are hidden, and those that share their names, too."""
        return tuple(skill for report in self._reports for skill in report.skills)

    def find(self, mention: Mention) -> Skill:
        """The skill that is mentioned; a mention that names nothing, or two things, is an error."""
        duplicates = self._by_name.duplicates
        if duplicates and mention in duplicates:
            raise SkillError(build_duplicate_name(duplicates[mention]))
        skill = self._by_name.by_namespace.get(mention.namespace, {}).get(mention.name)
        if skill is not None:
            return skill
        namespaces = {source.origin.namespace for source in self._sources}
        if mention.namespace not in namespaces:
            raise unknown_namespace_error(mention, namespaces)
        raise unknown_mention_error(mention, [other.mention for other in self.all()], self.problems())

    def find_by_name(self, name: str) -> Skill:
        """The skill that a bare name means: the nearest of that name; `plugin:name` and `namespace:name` say which.

        A name that nothing has, or that equally near skills share, is an error.
        """
        namespace, _, own = name.rpartition(":")
        for candidate in (namespace, f"plugin:{namespace}"):
            if namespace and candidate in self._by_name.by_namespace:
                return self.find(Mention(candidate, own))
        shared = self._by_name.shared.get(name)
        if shared is not None and len(shared.nearest) > 1:
            raise SkillError(build_ambiguous_name(name, shared.nearest))
        skill = self._by_name.by_name.get(name) if shared is None else shared.nearest[0]
        if skill is None:
            raise unknown_name_error(name, self._by_name.by_name, self.problems())
        return self.find(skill.mention)

    def refresh(self) -> bool:
        """Search those sources anew that say that they have changed, and return whether anything has.

        Every other source keeps what it found, so one that is out of reach just now loses nothing.
        """
        if "_reports" not in self.__dict__:
            return False
        stale = [isinstance(source, ChangeDetecting) and source.has_changed() for source in self._sources]
        if not any(stale):
            return False
        pairs = zip(self._sources, self._reports, stale, strict=True)
        reports = tuple(self._search(source) if is_stale else report for source, report, is_stale in pairs)
        if reports == self._reports:
            return False
        fresh = self.without(())
        fresh.__dict__["_reports"] = reports
        # All at once: whoever looks something up meanwhile sees one search or the other.
        self.__dict__.update(_reports=reports, _by_name=fresh._by_name, _available=fresh._available)
        return True

    def watched_directories(self) -> tuple[Path, ...]:
        """The directories whose changes may change what is found here."""
        return tuple(
            path
            for source in self._sources
            if isinstance(source, Watchable)
            for path in (source.root, *source.directories())
        )

    def resolve(self, text: str) -> tuple[Skill, ...]:
        """The skills that free text mentions, each once, in the order of their first mention."""
        return tuple(self.find(mention) for mention in mentions_in(text))

    def body(self, skill: Skill) -> str:
        """The Markdown of a skill."""
        for source in self._sources:
            if (source.origin.space_id, source.origin.source_id) == (skill.space_id, skill.source_id):
                return source.body(skill)
        raise failure("SKILL_BODY_READ_FAILED", f"`{skill.mention.text}` is not a skill of this library")

    def set_variable(self, variable: str, value: str) -> None:
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
        return tuple(self._search(source) for source in self._sources)

    def _search(self, source: Source) -> Report:
        report, limit = source.skills(), self.rules.max_body_bytes
        if self._excluded or self._only is not None:
            report = Report(
                tuple(skill for skill in report.skills if self._includes(skill)),
                tuple(problem for problem in report.problems if not self._is_excluded(Path(problem.locator))),
            )
        return report if limit is None or not self.rules.whole_texts else drop_oversized(report, self.body, limit)

    def _includes(self, skill: Skill) -> bool:
        if self._only is not None and skill.name not in self._only and skill.mention.text not in self._only:
            return False
        return skill.path is None or not self._is_excluded(skill.path)

    def _is_excluded(self, path: Path) -> bool:
        return any(path.is_relative_to(excluded) for excluded in self._excluded)

    @cached_property
    def _by_name(self) -> NameIndex:
        names: dict[str, dict[str, Skill]] = {}
        duplicates: dict[Mention, tuple[Skill, ...]] = {}
        for report in self._reports:
            for skill in report.skills:
                first = names.setdefault(skill.namespace, {}).setdefault(skill.name, skill)
                if first is not skill:
                    duplicates[skill.mention] = (*duplicates.get(skill.mention, (first,)), skill)
        bare: dict[str, Skill] = {}
        for namespace in reversed(names.values()):
            bare |= namespace
        return NameIndex(names, duplicates, self._rank_shared_names(names), bare)

    def _rank_shared_names(self, names: Mapping[str, Mapping[str, Skill]]) -> dict[str, Namesakes]:
        if len(names) < 2:
            return {}
        levels = {(source.origin.space_id, source.origin.source_id): source.origin.level for source in self._sources}
        counted = Counter(name for namespace in names.values() for name in namespace)
        several = [name for name, number in counted.items() if number > 1]
        return {
            name: rank_namesakes(
                (levels[skill.space_id, skill.source_id], skill)
                for namespace in names.values()
                if (skill := namespace.get(name)) is not None
            )
            for name in several
        }

    @cached_property
    def _available(self) -> tuple[Skill, ...]:
        unavailable = {mention.text for mention in self._by_name.duplicates}
        unavailable |= {skill.mention.text for namesakes in self._by_name.shared.values() for skill in namesakes.hidden}
        skills = (
            namespace[name] for _, namespace in sorted(self._by_name.by_namespace.items()) for name in sorted(namespace)
        )
        if not unavailable:
            return tuple(skills)
        return tuple(skill for skill in skills if skill.mention.text not in unavailable)
