r"""Find and resolve mentions of skills in texts.

Text that is not a valid mention is left alone. An exact mention that names no skill is an error. In the forms that
people type, a known name is resolved to its skill, and an unknown name becomes a notice if it is clearly a mention:

- `[$name](path)`: always;
- `/name` at the beginning: unless it is a directory of every system, such as `/tmp`;
- `$name`: when it has a hyphen, which no variable has, when it is one typo away from the name of a skill, or when
  several skills have that name. Any other `$word` is text.

A skill with `user-invocable: false` can only be called by its exact mention.
"""

import posixpath
import re
import string
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Literal
from urllib.parse import unquote

import msgspec

from skills_runtime.skills.library import (
    DISCOVERED,
    PLUGIN_LEVEL,
    Library,
    build_ambiguous_name,
    rank_namesakes,
    unknown_mention_error,
    unknown_name_error,
)
from skills_runtime.skills.problems import Problem, SkillError, failure
from skills_runtime.skills.skill import EXACT_MENTION, NAME, Mention, Skill, is_name, people_may_call
from skills_runtime.text import one_line

Form = Literal["exact", "dollar", "slash", "link"]

_ANY_NAME = r"[^\W_](?:[\w\u0300-\u036f-]{0,62}[^\W_][\u0300-\u036f]?|[\u0300-\u036f])?"
_QUALIFIED = f"{NAME}(?::{NAME}){{0,7}}"
_ANY_QUALIFIED = f"(?>{_ANY_NAME}(?::{_ANY_NAME}){{0,7}})"
_DOLLAR_PREFIX = r"(?<![A-Za-z0-9_$\\/{\[=.@#&%+^|~-])\$"
_NAME_END = r"(?![A-Za-z0-9_\[({=+\\]|-[A-Za-z0-9>-]|[/.:][A-Za-z0-9_/$*~])"
_TARGET = r"\]\((?:<(?P<inner>[^<>\n]{1,1024})>|(?P<path>[^()\s<>]{1,1024}))\)"
_DOLLAR = re.compile(rf"{_DOLLAR_PREFIX}(?P<name>(?=[0-9_:-]*[a-z]){_QUALIFIED}){_NAME_END}")
_LINK = re.compile(rf"(?<![\\!])\[\$(?P<name>{_QUALIFIED}){_TARGET}")
_SLASH = re.compile(rf"\s*/(?P<name>{_QUALIFIED})(?=\s|\Z)")
_ANY_DOLLAR = re.compile(rf"{_DOLLAR_PREFIX}(?P<name>{_ANY_QUALIFIED}){_NAME_END}")
_ANY_LINK = re.compile(rf"(?<![\\!])\[\$(?P<name>{_ANY_QUALIFIED}){_TARGET}")
_ANY_SLASH = re.compile(rf"\s*/(?P<name>{_ANY_QUALIFIED})(?=\s|\Z)")
_CODE_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TICKS = re.compile("`+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


class WrittenMention(msgspec.Struct, frozen=True, kw_only=True):
    """One mention as written in a text."""

    form: Form
    name: str
    """The name of the skill, with the qualifier before a `:` if there is one."""
    text: str
    """The mention as written."""
    start: int
    namespace: str = ""
    """Of an exact mention."""
    path: str = ""
    """The target of a link."""
    arguments: str = ""
    """The text after a `/name`."""


def scan_mentions(text: str, also: Collection[str] = ()) -> list[WrittenMention]:
    """Find every mention in a text, in order; `also` are skill names that do not fit into an exact mention."""
    if "$" not in text and not text.lstrip().startswith("/"):
        return []
    mentions = [
        WrittenMention(
            form="exact", name=match["name"], namespace=match["namespace"], text=match[0], start=match.start()
        )
        for match in EXACT_MENTION.finditer(text)
    ]
    mentions += _find_slash(text, _SLASH, str)
    prose = mask_code(text) if "$" in text else ""
    mentions += [*_find_links(prose, _LINK, str), *_find_dollars(prose, _DOLLAR, str)]
    if also:
        extra = _scan_other_names(text, prose, also)
        replaced_starts = {mention.start for mention in extra}
        mentions = [*extra, *(mention for mention in mentions if mention.start not in replaced_starts)]
    return sorted(mentions, key=lambda mention: mention.start)


def _scan_other_names(text: str, prose: str, also: Collection[str]) -> list[WrittenMention]:
    """Find mentions by names outside the exact form; after a slash and in a link, unknown names count too."""

    def match_whole(name: str) -> str:
        bare_name = _bare_name(name)
        is_other = bare_name in also or (
            len(bare_name) > 1 and bare_name == bare_name.lower() and not is_name(bare_name)
        )
        return unicodedata.normalize("NFKC", name) if is_other else ""

    def match_prefix(name: str) -> str:
        """Return the longest known name at the start; in scripts without spaces more text may follow it."""
        run = unicodedata.normalize("NFKC", name)
        for end in range(len(run), 0, -1):
            ends = end == len(run) or unicodedata.east_asian_width(run[end]) in ("W", "F")
            if ends and _bare_name(run[:end]) in also:
                return run[:end]
        return ""

    return [
        *_find_slash(text, _ANY_SLASH, match_whole),
        *_find_links(prose, _ANY_LINK, match_whole),
        *_find_dollars(prose, _ANY_DOLLAR, match_prefix),
    ]


def _bare_name(name: str) -> str:
    return unicodedata.normalize("NFKC", name.rpartition(":")[2])


def mask_code(text: str) -> str:
    """Replace fenced code blocks and inline code by blanks."""
    if "`" not in text and "~~~" not in text:
        return text
    lines: list[str] = []
    code_fence = ""
    for line in text.split("\n"):
        mark = _CODE_FENCE.match(line)
        if code_fence:
            closes = mark is not None and mark[1].startswith(code_fence) and not line.strip(" \t\r`~")
            code_fence = "" if closes else code_fence
            lines.append(" " * len(line))
        elif mark is not None and not (mark[1][0] == "`" and "`" in line[mark.end() :]):
            code_fence = mark[1]
            lines.append(" " * len(line))
        else:
            lines.append(line)
    pieces: list[str] = []
    masked, start = "\n".join(lines), 0
    for blank in _BLANK_LINE.finditer(masked):  # inline code never spans a blank line
        pieces.append(_mask_code_spans(masked[start : blank.end()]))
        start = blank.end()
    return "".join([*pieces, _mask_code_spans(masked[start:])])


def _find_slash(text: str, pattern: re.Pattern[str], resolve_name: Callable[[str], str]) -> Iterator[WrittenMention]:
    match = pattern.match(text)
    if match is not None and (name := resolve_name(match["name"])):
        arguments = text[match.end() :].strip()
        yield WrittenMention(form="slash", name=name, text=f"/{match['name']}", start=0, arguments=arguments)


def _find_links(text: str, pattern: re.Pattern[str], resolve_name: Callable[[str], str]) -> Iterator[WrittenMention]:
    for match in pattern.finditer(text):
        path = match["path"] or match["inner"]
        if name := resolve_name(match["name"]):
            yield WrittenMention(form="link", name=name, text=match[0], start=match.start(), path=path)


def _find_dollars(text: str, pattern: re.Pattern[str], resolve_name: Callable[[str], str]) -> Iterator[WrittenMention]:
    for match in pattern.finditer(text):
        if name := resolve_name(match["name"]):
            yield WrittenMention(form="dollar", name=name, text=f"${name}", start=match.start())


def _mask_code_spans(text: str) -> str:
    if "`" not in text:
        return text
    runs = [(match.start(), match.end()) for match in _TICKS.finditer(text)]
    last_of = {end - start: index for index, (start, end) in enumerate(runs)}
    pieces: list[str] = []
    copied = index = 0
    while index < len(runs):
        start, end = runs[index]
        closing = index + 1
        if last_of[end - start] > index:
            while runs[closing][1] - runs[closing][0] != end - start:
                closing += 1
            pieces += [text[copied:start], re.sub(r"[^\n]", " ", text[start : runs[closing][1]])]
            copied = runs[closing][1]
            closing += 1
        index = closing
    return "".join([*pieces, text[copied:]])


def is_typo_of(wrong: str, names: Collection[str]) -> bool:
    """Return whether one inserted, missing, wrong or swapped letter makes a known name; fast for many names."""
    if len(wrong) < _MIN_TYPO_CHARS:
        return False
    for index in range(len(wrong) + 1):
        head, tail = wrong[:index], wrong[index:]
        if head + tail[1:] in names or head + tail[1:2] + tail[:1] + tail[2:] in names:
            return True
        if any(head + letter + tail in names or head + letter + tail[1:] in names for letter in _LETTERS):
            return True
    return False


_PLUGIN = "plugin:"


class SkillListing:
    """A plain list of skills, by name; shadowed skills are not listed, so only plugins rank lower."""

    def __init__(self, skills: tuple[Skill, ...]) -> None:
        self._skills = skills

    def usable(self) -> tuple[Skill, ...]:
        """Return every skill of the list."""
        return self._skills

    def untrusted(self) -> tuple[Skill, ...]:
        """Return no skills: all of the list may be used."""
        return ()

    def problems(self) -> tuple[Problem, ...]:
        """Return no problems: a list has only usable skills."""
        return ()

    def find(self, mention: Mention) -> Skill:
        """Return the skill of an exact mention."""
        skills = [
            skill for skill in self._skills if skill.name == mention.name and skill.namespace == mention.namespace
        ]
        if len(skills) != 1:
            raise unknown_mention_error(mention, (), ())
        return skills[0]

    def find_by_name(self, name: str) -> Skill:
        """Return the only skill of this name; none or several raise `SkillError`."""
        namespace, _, own = name.rpartition(":")
        if namespace:
            for candidate in (namespace, f"{_PLUGIN}{namespace}"):
                if any(skill.namespace == candidate for skill in self._skills):
                    return self.find(Mention(candidate, own))
        skills = [skill for skill in self._skills if skill.name == name]
        if not skills:
            raise unknown_name_error(name, (), ())
        is_plugin = [skill.space_id == DISCOVERED and skill.namespace.startswith(_PLUGIN) for skill in skills]
        levels = (PLUGIN_LEVEL if from_plugin else 0 for from_plugin in is_plugin)
        nearest = rank_namesakes(zip(levels, skills, strict=True)).nearest
        if len(nearest) > 1:
            raise SkillError(build_ambiguous_name(name, nearest))
        return nearest[0]


MAX_NOTICES = 20

_DIRECTORIES = frozenset(
    {"bin", "boot", "dev", "etc", "home", "lib", "lib64", "media", "mnt", "opt", "private", "proc", "root", "run"}
    | {"sbin", "srv", "sys", "tmp", "usr", "var", "volumes"}
)
_SHOWN_CHARS = 120
_LETTERS = string.ascii_lowercase + string.digits + "-_"
_MIN_TYPO_CHARS = 4
"""Shorter words are all one typo apart."""


class ResolvedMentions(msgspec.Struct, frozen=True, kw_only=True):
    """The result of resolving the mentions of a text."""

    skills: tuple[Skill, ...] = ()
    """Each once, in order of the first mention."""
    arguments: Mapping[Mention, str] = {}
    """The text after a `/name`, by skill."""
    mention_texts: Mapping[Mention, str] = {}
    """How each skill was first mentioned."""
    notices: tuple[Problem, ...] = ()
    """Mentions that name no skill, for the user; the text is unchanged."""


def resolve_mentions(text: str, library: Library | SkillListing) -> ResolvedMentions:
    """Resolve the mentions of a text in any form; an exact mention of no skill raises, as does an untrusted skill."""
    arguments: dict[Mention, str] = {}
    skills: dict[Mention, Skill] = {}
    mention_texts: dict[Mention, str] = {}
    notices: dict[str, Problem] = {}
    for written_mention, outcome in _resolve_each(text, library):
        if isinstance(outcome, SkillError):
            if written_mention.form == "exact" or outcome.code == "SKILL_UNTRUSTED":
                raise outcome
            text_excerpt = one_line(written_mention.text)[:_SHOWN_CHARS]
            hint = (
                outcome.hint
                if written_mention.form != "dollar"
                else f"{outcome.hint}; write `\\{text_excerpt}` where no skill is meant"
            )
            notice = msgspec.structs.replace(
                outcome.problem,
                message=f"`{text_excerpt}` was left as it is: {outcome.message}",
                hint=hint.removeprefix("; "),
                severity="notice",
            )
            notices.setdefault(written_mention.text, notice)
            continue
        skills.setdefault(outcome.mention, outcome)
        mention_texts.setdefault(outcome.mention, written_mention.text)
        if written_mention.arguments:
            arguments[outcome.mention] = written_mention.arguments
    problems = list(notices.values())
    if len(problems) > MAX_NOTICES:
        more = Problem(
            code="SKILL_UNKNOWN",
            message=f"{len(problems) - MAX_NOTICES} more mentions name no skill",
            hint="put what is code between backticks",
            severity="notice",
        )
        problems = [*problems[:MAX_NOTICES], more]
    return ResolvedMentions(
        skills=tuple(skills.values()), arguments=arguments, mention_texts=mention_texts, notices=tuple(problems)
    )


def resolve_listed_mentions(text: str, skills: Sequence[Skill]) -> ResolvedMentions:
    """Resolve mentions against a plain list of skills, ignoring unknown ones."""
    matches: dict[Mention, tuple[Skill, str]] = {}
    for written_mention, outcome in _resolve_each(text, SkillListing(tuple(skills))):
        if not isinstance(outcome, SkillError):
            matches.setdefault(outcome.mention, (outcome, written_mention.text))
    return ResolvedMentions(
        skills=tuple(skill for skill, _ in matches.values()),
        mention_texts={mention: text for mention, (_, text) in matches.items()},
    )


def _resolve_each(text: str, library: Library | SkillListing) -> Iterator[tuple[WrittenMention, Skill | SkillError]]:
    """Yield each mention with its skill, or with the error why there is none."""
    if "$" not in text and not text.lstrip().startswith("/"):
        return
    broken = (problem.name for problem in library.problems() if problem.severity == "error" and problem.name)
    names = frozenset((*(skill.name for skill in (*library.usable(), *library.untrusted())), *broken))
    for mention in scan_mentions(text, frozenset(name for name in names if not is_name(name))):
        if _is_mention(mention, names):
            try:
                yield mention, _resolve(mention, library)
            except SkillError as error:
                yield mention, error


def _is_mention(mention: WrittenMention, names: frozenset[str]) -> bool:
    """Return whether the text refers to a skill. Checked before the lookup: most words with a `$` do not."""
    if mention.form == "slash":
        return mention.name not in _DIRECTORIES or mention.name in names
    if mention.form != "dollar":
        return True
    name = mention.name.rpartition(":")[2]
    return name in names or (mention.name[0].isalpha() and "-" in mention.name) or is_typo_of(name, names)


def _resolve(mention: WrittenMention, library: Library | SkillListing) -> Skill:
    if mention.form == "exact":
        return library.find(Mention(mention.namespace, mention.name))
    skill = _resolve_link(mention, library) if mention.form == "link" else library.find_by_name(mention.name)
    if not people_may_call(skill):
        raise failure(
            "SKILL_NOT_FOR_PEOPLE",
            f"the skill `{skill.name}` is not user-invocable",
            hint="the model calls it when a task needs it",
            mention=mention.text,
        )
    return skill


def _resolve_link(mention: WrittenMention, library: Library | SkillListing) -> Skill:
    """Return the skill that a link names; its path decides between skills of one name."""
    name = mention.name.rpartition(":")[2]
    skills = [skill for skill in library.usable() if skill.name == name]
    if not skills:
        return library.find_by_name(mention.name)
    path = posixpath.normpath(unquote(mention.path).removeprefix("file://").removeprefix("skill://"))
    while path.startswith("../"):
        path = path[3:]
    at_path = [skill for skill in skills if mention.path == skill.locator or _is_at(skill, path)]
    if len(at_path) == 1:
        return at_path[0]
    locators = ", ".join(f"`{skill.locator}`" for skill in skills[:3])
    raise failure("SKILL_UNKNOWN", f"there is no skill `{name}` at {mention.path!a}", hint=f"it is at {locators}")


def _is_at(skill: Skill, location: str) -> bool:
    own = [skill.locator] if skill.path is None else [str(skill.path), str(skill.path.parent)]
    return any(path == location or (not location.startswith("/") and path.endswith(f"/{location}")) for path in own)
