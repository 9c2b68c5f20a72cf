"""Finds words to the model that no honest skill needs: set rules aside, keep quiet, send things away."""

import re
from collections.abc import Iterator

from skills_runtime.skills.security.hosts import URL, is_bad, kind_of, related
from skills_runtime.skills.security.instruction_rules import PATTERNS, SECRET, SENDING
from skills_runtime.skills.security.marks import Mark, Profile, line_matches, mark
from skills_runtime.skills.security.text import Text

_TO_ADDRESS = re.compile(
    (
        rf"\b{SENDING}\b[^\n]{{0,160}}?{SECRET}[^\n]{{0,160}}?(?:https?://"
        r"|\bwebhook|\bendpoint\b|[\w.+-]+@[\w-]+\.\w{2,6})"
    ),
    re.I,
)
_ADDRESS_FIRST = re.compile(
    (
        r"(?:https?://\S{4,160}|\bwebhook)[^\n]{0,120}\b(?:with|including"
        rf"|containing|contain|body|payload|carrying|param\w*)\b[^\n]{{0,100}}{SECRET}"
    ),
    re.I,
)
_COLLECTED = re.compile(
    (
        rf"\b(?:collect|gather|harvest|read|extract|find|dump|copy)\w*\b[^\n]{{0,60}}{SECRET}[^\n]{{0,"
        rf"120}}\b{SENDING}\b[^\n]{{0,60}}(?:https?://|\bwebhook)"
    ),
    re.I,
)
_KEY_VALUE = re.compile(
    (
        r"\b(?:append|include|add|attach|pass|insert)\b[^\n.]{0,60}\$\{?[A-Z_]*(?:KEY"
        r"|TOKEN|SECRET|PASSWORD)\}?[^\n.]{0,80}(?:query|param|url|header|comment"
        r"|request)"
    ),
    re.I,
)
_FOLLOW = re.compile(
    (
        r"\b(?:fetch|download|read|load|retrieve|curl|get|pull|open|visit|check"
        r"|consult|defined)\b[^\n]{0,100}?(https?://[^\s)>\]`\"']{4,200})[^\n]{0,140}?\b(?:follow"
        r"|execute|obey|apply|comply|conform|act on|carry out|treat)\b[^\n]{0,50}\b(?:instructions?"
        r"|commands?|rules|directives?|steps|them|it|exactly|returned|contents?)\b"
    ),
    re.I,
)
_EACH_TIME = re.compile(
    (
        r"\b(?:after|before|whenever|upon|once|on)\b\s+(?:(?:any|every|each"
        r"|all|finishing|completing|editing|processing|creating|saving|you)\b)[^\n]{0,120}?\b(?:upload"
        r"|send|post|submit|transmit|forward|back ?up|backup|sync|copy|ping"
        r"|call|notify)\w*\b[^\n]{0,160}?(https?://[^\s)>\]`\"']{4,200})"
    ),
    re.I,
)
_SECRET_WORD = re.compile(SECRET, re.I)
_SENDING_WORD = re.compile(rf"\b{SENDING}\b|\bwith\b|\bincluding\b|\bcontain|\bbody\b|\bpayload\b", re.I)
_TARGET = re.compile(r"https?://|\bwebhook|\bendpoint\b|@[\w-]+\.\w", re.I)
_VARIABLE = re.compile(r"\$\{?[A-Z_]*(?:KEY|TOKEN|SECRET|PASSWORD)")
_ADDRESS = re.compile(r"https?://", re.I)
_PRIVATE_THING = re.compile(
    (
        r"\b(?:file|document|conversation|content|data|result|prompt|user|workspace"
        r"|report|spreadsheet|presentation|code|message|backup|changes)s?\b"
    ),
    re.I,
)


def instruction_marks(text: Text, profile: Profile) -> Iterator[Mark]:
    """Words to the model in a text."""
    yield from line_matches(PATTERNS, text)
    yield from _sending(text, profile)
    if "http" in text.folded:
        yield from _steering(text, profile)


def _sending(text: Text, profile: Profile) -> Iterator[Mark]:
    for start, line in _lines_with(text, _TARGET):
        if not (_SECRET_WORD.search(line) and _SENDING_WORD.search(line)):
            continue
        for expression in (_TO_ADDRESS, _ADDRESS_FIRST, _COLLECTED):
            match = expression.search(line)
            if match:
                yield from _target(start, line, match, profile)
                break
    for start, line in _lines_with(text, _VARIABLE):
        match = _KEY_VALUE.search(line)
        if match:
            yield mark("I004", start + match.start(), start + match.end(), "medium")


def _target(start: int, line: str, match: re.Match[str], profile: Profile) -> Iterator[Mark]:
    rest = line[match.start() :]
    address = URL.search(rest)
    place = start + match.start(), start + match.end()
    if address is None:
        if "@" in match[0]:
            yield mark("I004", *place, "medium", shown=rest)
        return
    if kind_of(address[0]) in ("known", "placeholder", "local"):
        return
    if is_bad(address[0]):
        yield mark("I004", *place, "critical", shown=rest)
    elif not related(address[0], profile.words):
        yield mark("I004", *place, "high", shown=rest)


def _lines_with(text: Text, expression: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """The lines that hold something, each once, cut to what can still be read at once."""
    last = -1
    for match in expression.finditer(text.body):
        number = text.line_at(match.start())
        if number != last:
            last = number
            yield text.starts[number - 1], text.line(number)[:2_000]


def _steering(text: Text, profile: Profile) -> Iterator[Mark]:
    for start, line in _lines_with(text, _ADDRESS):
        follow, each = _FOLLOW.search(line), _EACH_TIME.search(line)
        if follow:
            yield from _followed(start, follow, profile)
        if each and _PRIVATE_THING.search(each[0]):
            kind = kind_of(each[1])
            if kind not in ("known", "placeholder", "local") and not related(each[1], profile.words):
                yield mark("I010", start + each.start(), start + each.end(), "critical" if is_bad(each[1]) else "high")


def _followed(start: int, match: re.Match[str], profile: Profile) -> Iterator[Mark]:
    kind = kind_of(match[1])
    if kind == "unknown" and not related(match[1], profile.words):
        yield mark("I005", start + match.start(), start + match.end(), "medium" if "github" in match[1] else "high")
    elif is_bad(match[1]):
        yield mark("I005", start + match.start(), start + match.end(), "critical")
