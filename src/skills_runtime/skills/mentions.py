"""The mentions of skills in texts: how each form is written, every legal one in free text, and errors for unknown ones.

Pure. What is not a legal mention is ordinary text; `mention_resolution` says which skills are meant.
"""

import heapq
import re
import string
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Literal

import msgspec

from skills_runtime.skills.problems import Problem, SkillError, failure
from skills_runtime.skills.skill import Mention, Skill

_SEGMENT = "[a-z0-9][a-z0-9-]{0,62}[a-z0-9]"
_NAMESPACE = f"{_SEGMENT}(?::{_SEGMENT}){{0,6}}"
NAME = "[a-z0-9][a-z0-9_-]{0,62}[a-z0-9]"
"""What a skill may be called, as a regular expression."""
_MENTION = re.compile(rf"\$\[(?P<namespace>{_NAMESPACE})\]\.(?P<name>{NAME})")
# A name that goes on in a way no name can, or that a bracket closes, is not a name.
IN_TEXT = re.compile(rf"{_MENTION.pattern}(?![_-]*[A-Za-z0-9\]])")
"""An exact mention in the middle of a text."""
_WHOLE_NAME = re.compile(NAME)
_WHOLE_NAMESPACE = re.compile(_NAMESPACE)

_SHOWN_CHARS = 80


def is_name(text: str) -> bool:
    """Whether a skill may be called so."""
    return _WHOLE_NAME.fullmatch(text) is not None


def without_mention(name: str) -> str:
    """What to say of a skill whose name no exact mention can have."""
    return f"no exact mention can say its name; write `${name}` or `/{name}`"


def is_namespace(text: str) -> bool:
    """Whether the text is one to seven segments joined by colons."""
    return _WHOLE_NAMESPACE.fullmatch(text) is not None


def mentions_in(text: str) -> list[Mention]:
    """The skills that free text mentions, each once, in the order of their first mention."""
    if "$[" not in text:
        return []
    found = (Mention(match["namespace"], match["name"]) for match in IN_TEXT.finditer(text))
    return list(dict.fromkeys(found))


def parse_mention(text: str) -> Mention:
    """The one mention that the whole text is; anything around it is an error."""
    match = _MENTION.fullmatch(text)
    if match is None:
        shown = text[:_SHOWN_CHARS] + ("…" if len(text) > _SHOWN_CHARS else "")
        raise failure(
            "SKILL_MENTION_FORMAT_INVALID",
            f"{shown!a} is not the mention of a skill",
            hint="write exactly one, such as `$[web:mvp].article-writer`",
        )
    return Mention(match["namespace"], match["name"])


Form = Literal["exact", "dollar", "slash", "link"]

_ANY_NAME = r"[^\W_](?:[\w\u0300-\u036f-]{0,62}[^\W_][\u0300-\u036f]?|[\u0300-\u036f])?"
_QUALIFIED = f"{NAME}(?::{NAME}){{0,7}}"
_ANY_QUALIFIED = f"(?>{_ANY_NAME}(?::{_ANY_NAME}){{0,7}})"
_BEFORE = r"(?<![A-Za-z0-9_$\\/{\[=.@#&%+^|~-])\$"
_AFTER = r"(?![A-Za-z0-9_\[({=+\\]|-[A-Za-z0-9>-]|[/.:][A-Za-z0-9_/$*~])"
_PLACE = r"\]\((?:<(?P<inner>[^<>\n]{1,1024})>|(?P<path>[^()\s<>]{1,1024}))\)"
_DOLLAR = re.compile(rf"{_BEFORE}(?P<name>(?=[0-9_:-]*[a-z]){_QUALIFIED}){_AFTER}")
_LINK = re.compile(rf"(?<![\\!])\[\$(?P<name>{_QUALIFIED}){_PLACE}")
_SLASH = re.compile(rf"\s*/(?P<name>{_QUALIFIED})(?=\s|\Z)")
_ANY_DOLLAR = re.compile(rf"{_BEFORE}(?P<name>{_ANY_QUALIFIED}){_AFTER}")
_ANY_LINK = re.compile(rf"(?<![\\!])\[\$(?P<name>{_ANY_QUALIFIED}){_PLACE}")
_ANY_SLASH = re.compile(rf"\s*/(?P<name>{_ANY_QUALIFIED})(?=\s|\Z)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TICKS = re.compile("`+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """One mention as it stands in a text."""

    form: Form
    name: str
    """The name of the skill; qualified by what comes before a `:`, if somebody wrote that."""
    text: str
    """What was written."""
    start: int
    namespace: str = ""
    """Of an exact mention."""
    path: str = ""
    """Where a link leads."""
    arguments: str = ""
    """What follows a `/name`."""


def written_in(text: str, also: Collection[str] = ()) -> list[Written]:
    """Every mention in a text, in the order they stand in; `also` are names of skills that no exact mention can say."""
    if "$" not in text and not text.lstrip().startswith("/"):
        return []
    found = [*_exact(text), *_slash(text, _SLASH, str)]
    outside = prose(text) if "$" in text else ""
    found += [*_links(outside, _LINK, str), *_dollars(outside, _DOLLAR, str)]
    if also:
        others = _others(text, outside, also)
        instead = {one.start for one in others}
        found = [*others, *(one for one in found if one.start not in instead)]
    return sorted(found, key=lambda one: one.start)


def _others(text: str, outside: str, also: Collection[str]) -> list[Written]:
    """The mentions by names that the exact form cannot say; behind a slash and in a link a slip counts as well."""

    def whole(name: str) -> str:
        own = _own(name)
        is_other = own in also or (len(own) > 1 and own == own.lower() and not is_name(own))
        return unicodedata.normalize("NFKC", name) if is_other else ""

    def beginning(name: str) -> str:
        return _known_beginning(unicodedata.normalize("NFKC", name), also)

    return [
        *_slash(text, _ANY_SLASH, whole),
        *_links(outside, _ANY_LINK, whole),
        *_dollars(outside, _ANY_DOLLAR, beginning),
    ]


def _own(name: str) -> str:
    return unicodedata.normalize("NFKC", name.rpartition(":")[2])


def _known_beginning(run: str, also: Collection[str]) -> str:
    """The longest name a run of letters begins with; where words have no spaces between them it may go on."""
    for end in range(len(run), 0, -1):
        ends = end == len(run) or unicodedata.east_asian_width(run[end]) in ("W", "F")
        if ends and _own(run[:end]) in also:
            return run[:end]
    return ""


def prose(text: str) -> str:
    """The text with every character of code made a blank: fenced blocks, and what stands between backticks."""
    if "`" not in text and "~~~" not in text:
        return text
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            closes = mark is not None and mark[1].startswith(fence) and not line.strip(" \t\r`~")
            fence = "" if closes else fence
            lines.append(" " * len(line))
        elif mark is not None and not (mark[1][0] == "`" and "`" in line[mark.end() :]):
            fence = mark[1]
            lines.append(" " * len(line))
        else:
            lines.append(line)
    return "".join(map(_without_spans, _paragraphs("\n".join(lines))))


def _exact(text: str) -> Iterator[Written]:
    for match in IN_TEXT.finditer(text):
        name, namespace = match["name"], match["namespace"]
        yield Written(form="exact", name=name, namespace=namespace, text=match[0], start=match.start())


def _slash(text: str, pattern: re.Pattern[str], named: Callable[[str], str]) -> Iterator[Written]:
    match = pattern.match(text)
    if match is not None and (name := named(match["name"])):
        rest = text[match.end() :].strip()
        yield Written(form="slash", name=name, text=f"/{match['name']}", start=0, arguments=rest)


def _links(text: str, pattern: re.Pattern[str], named: Callable[[str], str]) -> Iterator[Written]:
    for match in pattern.finditer(text):
        path = match["path"] or match["inner"]
        if name := named(match["name"]):
            yield Written(form="link", name=name, text=match[0], start=match.start(), path=path)


def _dollars(text: str, pattern: re.Pattern[str], named: Callable[[str], str]) -> Iterator[Written]:
    for match in pattern.finditer(text):
        if name := named(match["name"]):
            yield Written(form="dollar", name=name, text=f"${name}", start=match.start())


def _paragraphs(text: str) -> Iterator[str]:
    """The text in pieces that end with a blank line; a span of code never goes past one."""
    start = 0
    for match in _BLANK_LINE.finditer(text):
        yield text[start : match.end()]
        start = match.end()
    yield text[start:]


def _without_spans(text: str) -> str:
    if "`" not in text:
        return text
    runs = [(match.start(), match.end()) for match in _TICKS.finditer(text)]
    last_of = {end - start: place for place, (start, end) in enumerate(runs)}
    pieces: list[str] = []
    done = place = 0
    while place < len(runs):
        start, end = runs[place]
        closing = place + 1
        if last_of[end - start] > place:
            while runs[closing][1] - runs[closing][0] != end - start:
                closing += 1
            pieces += [text[done:start], re.sub(r"[^\n]", " ", text[start : runs[closing][1]])]
            done = runs[closing][1]
            closing += 1
        place = closing
    return "".join([*pieces, text[done:]])


_SUGGESTIONS = 3
_COMPARED = 100
"""How many names are compared letter by letter."""
_LETTERS = string.ascii_lowercase + string.digits + "-_"
_SHORTEST = 4
"""Shorter words are all one slip from each other."""


def unknown(mention: Mention, names: Collection[Mention], problems: Iterable[Problem]) -> SkillError:
    """The error for a name in a known namespace that no usable skill has."""
    errors = [each for each in problems if each.severity == "error" and each.namespace == mention.namespace]
    broken = next((each for each in errors if each.name == mention.name), None)
    if broken is not None:
        message = f"`{mention.text}` cannot be used ({broken.locator}): {broken.message}"
        return SkillError(msgspec.structs.replace(broken, message=message))
    unseen = next((each for each in errors if each.code == "SKILL_SCAN_SOURCE_UNAVAILABLE"), None)
    why = f"; {unseen.message} ({unseen.locator})" if unseen is not None else ""
    return failure(
        "SKILL_UNKNOWN",
        f"there is no skill `{mention.text}`{why}",
        hint=nearest(mention.text, [known.text for known in sorted(names)]) or "check the name of the skill",
        mention=mention.text,
    )


def not_configured(mention: Mention, namespaces: Iterable[str]) -> SkillError:
    """The error for a namespace that no space has."""
    return failure(
        "SKILL_SPACE_NOT_CONFIGURED",
        f"`{mention.text}` names a namespace that no space has",
        hint=nearest(mention.namespace, sorted(set(namespaces))) or "add a space for it to `skills.spaces`",
        mention=mention.text,
    )


def duplicate(skills: Collection[Skill]) -> Problem:
    """The problem with skills of the same name."""
    first, *_ = skills
    places = [skill.locator for skill in skills]
    return Problem(
        code="SKILL_DUPLICATE_NAME",
        message=f"`{first.mention.text}` is the name of {len(places)} skills: {', '.join(places)}",
        hint="rename all but one of them, or put them into spaces of their own",
        namespace=first.namespace,
        name=first.name,
        details={"locators": places},
    )


def is_one_slip_from(wrong: str, known: Collection[str]) -> bool:
    """Whether one letter more, less, wrong or in the wrong place makes it a known name; ten thousand cost no more."""
    return len(wrong) >= _SHORTEST and any(one in known for one in _slips(wrong))


def _slips(word: str) -> Iterator[str]:
    for place in range(len(word) + 1):
        before, after = word[:place], word[place:]
        for letter in _LETTERS:
            yield before + letter + after
            yield before + letter + after[1:]
        yield before + after[1:]
        yield before + after[1:2] + after[:1] + after[2:]


def nearest(wrong: str, known: list[str]) -> str:
    """A question whether one of the known names was meant, or nothing where none is like it."""
    import difflib

    close = difflib.get_close_matches(wrong, _alike(wrong, known), n=_SUGGESTIONS)
    return f"did you mean {' or '.join(f'`{each}`' for each in close)}?" if close else ""


def _alike(wrong: str, known: list[str]) -> list[str]:
    """The names that share most with the wrong one; comparing letter by letter is too slow for thousands."""
    if len(known) <= _COMPARED:
        return known
    pieces = {wrong[place : place + 3] for place in range(len(wrong) - 2)}
    return heapq.nlargest(_COMPARED, known, key=lambda one: sum(piece in one for piece in pieces))
