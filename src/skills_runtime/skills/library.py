"""The skills of a run: searched at first use, then looked up by name.

A bare name means the nearest skill of that name; between equally near ones it is ambiguous. Skills of a plugin can
always be called with the plugin's name, so they are never shadowed.
"""

import difflib
import heapq
import os
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.skills.problems import Problem, SkillError, failure
from skills_runtime.skills.skill import Mention, Skill, is_name, mentions_in
from skills_runtime.skills.sources import Report, Source
from skills_runtime.skills.sources.source import ChangeDetecting, Watchable

DISCOVERED = "discovered"
"""The space of every skill that was discovered rather than configured."""
BUNDLED_SPACE = "bundled-skills"
"""The space of the skills that come with the runtime."""
PLUGIN_LEVEL, BUNDLED_LEVEL = 1_000_000, 2_000_000
"""The levels of plugins and of bundled skills, below everything else."""


_SUGGESTIONS = 3
_MAX_COMPARED = 100
"""Maximum number of names compared character by character."""


def is_bundled(skill: Skill) -> bool:
    """Return whether a skill comes with the runtime."""
    return skill.space_id == BUNDLED_SPACE


class Namesakes(msgspec.Struct, frozen=True):
    """Skills that share a name, ranked."""

    nearest: Sequence[Skill]
    """The skill that the name means; if several are equally near, the name is ambiguous."""
    hidden: Sequence[Skill] = ()
    """Shadowed skills, which are not listed."""


def rank_namesakes(skills: Iterable[tuple[int, Skill]]) -> Namesakes:
    """Rank skills of one name by their levels."""
    ranked = sorted(skills, key=lambda pair: pair[0])
    nearest_level = ranked[0][0]
    nearest = [skill for level, skill in ranked if level == nearest_level]
    hidden = [skill for level, skill in ranked if nearest_level < level != PLUGIN_LEVEL]
    if nearest_level > 0 and len({skill.content_hash for skill in nearest}) == 1 and nearest[0].content_hash:
        nearest, copies = nearest[:1], nearest[1:]
        hidden = [*(copy for copy in copies if nearest_level < PLUGIN_LEVEL), *hidden]
    return Namesakes(nearest, hidden)


def find_namesake_problems(namesakes: Mapping[str, Namesakes]) -> Iterable[Problem]:
    """Report ambiguous and shadowed names."""
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
    """Build the problem of a name that several equally near skills have."""
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
    """Build the error for a name that no usable skill has."""
    known_problems = list(problems)
    broken = next((problem for problem in known_problems if problem.severity == "error" and problem.name == name), None)
    if broken is not None:
        message = f"`{name}` cannot be used ({broken.locator}): {broken.message}"
        return SkillError(msgspec.structs.replace(broken, message=message))
    untrusted = next((problem for problem in known_problems if problem.code == "SKILL_FOLDER_UNTRUSTED"), None)
    hint = suggest(name, sorted(names)) or (untrusted.hint if untrusted else "`skills list` shows every skill")
    return failure("SKILL_UNKNOWN", f"there is no skill `{name}`", hint=hint, mention=name, resource="skill", name=name)


def unknown_mention_error(mention: Mention, names: Collection[Mention], problems: Iterable[Problem]) -> SkillError:
    """Build the error for a mention with a known namespace and an unknown name."""
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
        resource="skill",
        name=mention.text,
    )


def name_to_trust(skill: Skill) -> str:
    """Return what `skills trust` takes for a skill."""
    return skill.name if is_name(skill.name) else shlex.quote(str(skill.directory))


def untrusted_error(skill: Skill) -> SkillError:
    """Build the error for a skill that exists, in a project that is not trusted."""
    return failure(
        "SKILL_UNTRUSTED",
        f"the skill `{skill.name}` is not trusted",
        hint=f"review it, then run `skills trust {name_to_trust(skill)}`",
        mention=skill.mention.text,
        locator=skill.locator,
    )


def unknown_namespace_error(mention: Mention, namespaces: Iterable[str]) -> SkillError:
    """Build the error for a namespace that no space has."""
    return failure(
        "SKILL_SPACE_NOT_CONFIGURED",
        f"`{mention.text}` names a namespace that no space has",
        hint=suggest(mention.namespace, sorted(set(namespaces))) or "add a space for it to `skills.spaces`",
        mention=mention.text,
    )


def build_duplicate_name(skills: Collection[Skill]) -> Problem:
    """Build the problem of skills with the same namespace and name."""
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
    """Return a question that suggests similar names, or an empty text if there are none."""
    if len(names) > _MAX_COMPARED:  # comparing letter by letter is too slow for thousands
        pieces = {wrong[start : start + 3] for start in range(len(wrong) - 2)}
        names = heapq.nlargest(_MAX_COMPARED, names, key=lambda name: sum(piece in name for piece in pieces))
    close = difflib.get_close_matches(wrong, names, n=_SUGGESTIONS)
    return f"did you mean {' or '.join(f'`{match}`' for match in close)}?" if close else ""


def drop_oversized(report: Report, body: Callable[[Skill], str], max_bytes: int) -> Report:
    """Remove the skills whose text is too long; only files large enough to matter are read."""
    usable: list[Skill] = []
    problems: list[Problem] = []
    for skill in report.skills:
        size = 0
        try:
            if skill.file and Path(skill.file).stat().st_size > max_bytes:
                size = len(body(skill).encode())
        except (OSError, SkillError):
            pass  # an unreadable skill is reported when it is called
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
    """Rules for every skill of a library."""

    env_var_missing_policy: EnvPolicy = "ask_human"
    max_body_bytes: int | None = None
    """Maximum size of a skill's text in a prompt."""
    whole_texts: bool = True
    """Whether texts are injected whole, so that a skill with a longer text cannot be used."""
    catalog_tokens: int | None = None
    """Token budget of the skill list; `None` means the default share of the context window."""


class NameIndex(msgspec.Struct, frozen=True):
    """The skills of one scan, by name."""

    by_namespace: Mapping[str, Mapping[str, Skill]]
    """By namespace and name; of duplicates, the first."""
    duplicates: Mapping[Mention, tuple[Skill, ...]]
    """Skills that share namespace and name."""
    shared: Mapping[str, Namesakes]
    """Skills that share their name across namespaces, ranked."""
    by_name: Mapping[str, Skill]
    """One skill for every name."""


class Library:
    """Skills by name; a library is one scan until `refresh` is called.

    Skills that share a namespace and a name are left out and cannot be mentioned; all others work.
    """

    def __init__(
        self,
        sources: Iterable[Source] = (),
        *,
        rules: Rules | None = None,
        environment: Mapping[str, str] | None = None,
        notes: Iterable[Problem] = (),
        untrusted: Iterable[Source] = (),
    ) -> None:
        """Build a library; skills of `untrusted` sources are never used, and only explain why they are not."""
        self.rules = rules or Rules()
        self._sources = tuple(sources)
        self._untrusted = tuple(untrusted)
        self._notes = tuple(notes)
        self._environment = dict(environment or {})
        self._excluded: tuple[Path, ...] = ()
        self._only: frozenset[str] | None = None

    @property
    def has_sources(self) -> bool:
        """Return whether there are any sources."""
        return bool(self._sources)

    @property
    def notes(self) -> tuple[Problem, ...]:
        """Return the problems known before the scan."""
        return self._notes

    def without(self, paths: Iterable[Path]) -> "Library":
        """Return a library without the skills at or below these paths, which frees their names; it is scanned again."""
        narrowed = Library(
            self._sources,
            rules=self.rules,
            environment=self._environment,
            notes=self._notes,
            untrusted=self._untrusted,
        )
        narrowed._excluded = (*self._excluded, *(Path(os.path.realpath(path)) for path in paths))
        narrowed._only = self._only
        return narrowed

    def only(self, names: Iterable[str]) -> "Library":
        """Return a library with only the skills of these names or mentions; it is scanned again."""
        narrowed = self.without(())
        narrowed._only = frozenset(names) if self._only is None else self._only & frozenset(names)
        return narrowed

    def list(self) -> tuple[Skill, ...]:
        """Return every skill that a model is offered, by namespace and name; shadowed ones are left out."""
        return self._available

    def usable(self) -> tuple[Skill, ...]:
        """Return every skill that a task may name: those that a model is offered, and the bundled ones."""
        return self._usable

    def untrusted(self) -> tuple[Skill, ...]:
        """Return the skills that exist but may not be used, because the user does not trust them."""
        return tuple(skill for report in self.untrusted_reports for skill in report.skills if self._includes(skill))

    @cached_property
    def untrusted_reports(self) -> tuple[Report, ...]:
        """Search the untrusted sources."""
        return tuple(source.skills() for source in self._untrusted)

    def problems(self) -> tuple[Problem, ...]:
        """Return the problems of skills and sources."""
        duplicates = (build_duplicate_name(skills) for _, skills in sorted(self._by_name.duplicates.items()))
        of_reports = (problem for report in self._reports for problem in report.problems)
        return (*self._notes, *of_reports, *duplicates, *find_namesake_problems(self._by_name.shared))

    def all(self) -> tuple[Skill, ...]:
        """Return every skill, including shadowed ones and duplicates."""
        return tuple(skill for report in self._reports for skill in report.skills)

    def find(self, mention: Mention) -> Skill:
        """Return the mentioned skill; an unknown or ambiguous mention is an error."""
        duplicates = self._by_name.duplicates
        if duplicates and mention in duplicates:
            raise SkillError(build_duplicate_name(duplicates[mention]))
        skill = self._by_name.by_namespace.get(mention.namespace, {}).get(mention.name)
        if skill is not None:
            return skill
        for other in self.untrusted():
            if other.mention == mention:
                raise untrusted_error(other)
        namespaces = {source.origin.namespace for source in self._sources}
        if mention.namespace not in namespaces:
            raise unknown_namespace_error(mention, namespaces)
        raise unknown_mention_error(mention, [other.mention for other in self.all()], self.problems())

    def find_by_name(self, name: str) -> Skill:
        """Return the nearest skill of this name; `plugin:name` and `namespace:name` select one.

        An unknown name, or one that equally near skills share, is an error.
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
            for other in self.untrusted():
                if name in (other.name, f"{other.namespace}:{other.name}"):
                    raise untrusted_error(other)
            raise unknown_name_error(name, self._by_name.by_name, self.problems())
        return self.find(skill.mention)

    def refresh(self) -> bool:
        """Scan the sources that report a change again, and return whether anything has changed.

        Every other source keeps its skills, so one that is temporarily unreachable loses nothing.
        """
        if "_reports" not in self.__dict__:
            return False
        stale = [isinstance(source, ChangeDetecting) and source.has_changed() for source in self._sources]
        if not any(stale):
            return False
        pairs = zip(self._sources, self._reports, stale, strict=True)
        reports = _yield_to_others(
            tuple(
                self._search(source) if is_stale or source.origin.space_id == BUNDLED_SPACE else report
                for source, report, is_stale in pairs
            )
        )
        if reports == self._reports:
            return False
        fresh = self.without(())
        fresh.__dict__["_reports"] = reports
        # In one update, so that concurrent lookups see either the old or the new scan.
        self.__dict__.update(
            _reports=reports, _by_name=fresh._by_name, _usable=fresh._usable, _available=fresh._available
        )
        return True

    def watched_directories(self) -> tuple[Path, ...]:
        """Return the directories whose changes may change this library."""
        return tuple(
            path
            for source in self._sources
            if isinstance(source, Watchable)
            for path in (source.root, *source.directories())
        )

    def resolve(self, text: str) -> tuple[Skill, ...]:
        """Return the skills that a text mentions exactly, each once, in order of their first mention."""
        return tuple(self.find(mention) for mention in mentions_in(text))

    def body(self, skill: Skill) -> str:
        """Return the Markdown body of a skill."""
        for source in self._sources:
            if (source.origin.space_id, source.origin.source_id) == (skill.space_id, skill.source_id):
                return source.body(skill)
        raise failure("SKILL_BODY_READ_FAILED", f"`{skill.mention.text}` is not a skill of this library")

    def set_variable(self, variable: str, value: str) -> None:
        """Set an environment variable for the skills that declare it; it is kept in memory only."""
        self._environment[variable] = value

    def variables(self, skill: Skill) -> dict[str, str]:
        """Return the environment variables that a skill declares and that are set."""
        return {name: self._environment[name] for name in skill.required_env_vars if self._environment.get(name)}

    def missing(self, skill: Skill) -> tuple[str, ...]:
        """Return the environment variables that a skill declares and that are unset or empty."""
        return tuple(name for name in skill.required_env_vars if not self._environment.get(name))

    @cached_property
    def _reports(self) -> tuple[Report, ...]:
        return _yield_to_others(tuple(self._search(source) for source in self._sources))

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
        usable = self._usable
        offered = tuple(skill for skill in usable if not is_bundled(skill))
        return usable if len(offered) == len(usable) else offered

    @cached_property
    def _usable(self) -> tuple[Skill, ...]:
        unavailable = {mention.text for mention in self._by_name.duplicates}
        unavailable |= {skill.mention.text for namesakes in self._by_name.shared.values() for skill in namesakes.hidden}
        skills = (
            namespace[name] for _, namespace in sorted(self._by_name.by_namespace.items()) for name in sorted(namespace)
        )
        if not unavailable:
            return tuple(skills)
        return tuple(skill for skill in skills if skill.mention.text not in unavailable)


def _yield_to_others(reports: tuple[Report, ...]) -> tuple[Report, ...]:
    """Leave out each bundled skill whose mention another skill has: yours comes first, with a notice."""
    if len(reports) < 2 or not any(is_bundled(skill) for report in reports for skill in report.skills[:1]):
        return reports
    others = {skill.mention: skill for report in reports for skill in report.skills if not is_bundled(skill)}
    return tuple(
        _without_replaced(report, others) if report.skills and is_bundled(report.skills[0]) else report
        for report in reports
    )


def _without_replaced(report: Report, others: Mapping[Mention, Skill]) -> Report:
    replaced = [skill for skill in report.skills if skill.mention in others]
    notices = [
        Problem(
            code="SKILL_SHADOWED",
            message=f"the built-in `{skill.mention.text}` is replaced by {others[skill.mention].locator}",
            hint="rename yours to use both",
            severity="notice",
            locator=skill.locator,
            namespace=skill.namespace,
            name=skill.name,
            details={"by": skill.mention.text, "by_locator": others[skill.mention].locator},
        )
        for skill in replaced
        if skill.file != others[skill.mention].file
    ]
    remaining = tuple(skill for skill in report.skills if skill.mention not in others)
    return Report(remaining, (*report.problems, *notices))
