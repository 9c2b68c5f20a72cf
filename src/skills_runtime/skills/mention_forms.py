r"""The mentions that people type besides the exact one: `$name`, `/name words` and `[$name](path)`.

Pure, and only about how they are written; whether a name is one of a skill is asked later. Code is not looked into,
and a name that the text around it makes a variable, a path, a price or an assignment is none: `$HOME`, `${x}`, `$1`,
`$PATH/bin`, `$a.b`, `$x=1`, `f($y[0])`. A backslash before the `$` makes it text. The exact form `$[ns].name` counts
everywhere, in code too.
"""

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from skills_runtime.skills.mentions import IN_TEXT, NAME

Form = Literal["exact", "dollar", "slash", "link"]

_QUALIFIED = f"{NAME}(?::{NAME}){{0,7}}"
_DOLLAR = re.compile(
    r"(?<![A-Za-z0-9_$\\/{\[=.@#&%+^|~-])"
    rf"\$(?P<name>(?=[0-9_:-]*[a-z]){_QUALIFIED})"
    r"(?![A-Za-z0-9_\[({=+\\]|-[A-Za-z0-9>-]|[/.:][A-Za-z0-9_/$*~])"
)
_LINK = re.compile(
    rf"(?<![\\!])\[\$(?P<name>{_QUALIFIED})\]\((?:<(?P<inner>[^<>\n]{{1,1024}})>|(?P<path>[^()\s<>]{{1,1024}}))\)"
)
_SLASH = re.compile(rf"\s*/(?P<name>{_QUALIFIED})(?=\s|\Z)")
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


def written_in(text: str) -> list[Written]:
    """Every mention in a text, in the order they stand in."""
    if "$" not in text and not text.lstrip().startswith("/"):
        return []
    found = [*_exact(text), *_slash(text)]
    if "$" in text:
        outside = prose(text)
        found += [*_links(outside), *_dollars(outside)]
    return sorted(found, key=lambda one: one.start)


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


def _slash(text: str) -> Iterator[Written]:
    match = _SLASH.match(text)
    if match is not None:
        rest = text[match.end() :].strip()
        yield Written(form="slash", name=match["name"], text=f"/{match['name']}", start=0, arguments=rest)


def _links(text: str) -> Iterator[Written]:
    for match in _LINK.finditer(text):
        path = match["path"] or match["inner"]
        yield Written(form="link", name=match["name"], text=match[0], start=match.start(), path=path)


def _dollars(text: str) -> Iterator[Written]:
    for match in _DOLLAR.finditer(text):
        yield Written(form="dollar", name=match["name"], text=match[0], start=match.start())


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
