r"""The mentions that people type besides the exact one: `$name`, `/name words` and `[$name](path)`.

Pure, and only about how they are written; whether a name is one of a skill is asked later. Code is not looked into,
and a name that the text around it makes a variable, a path, a price or an assignment is none: `$HOME`, `${x}`, `$1`,
`$PATH/bin`, `$a.b`, `$x=1`, `f($y[0])`. A backslash before the `$` makes it text. The exact form `$[ns].name` counts
everywhere, in code too.

A name that the exact form cannot say, such as `技能` or `a`, is one where a skill has it: in a script without spaces
only the names there are can tell where a name ends, and a single letter is a variable to everybody else.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from typing import Literal

import msgspec

from skills_runtime.skills.mentions import IN_TEXT, NAME, is_name

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
