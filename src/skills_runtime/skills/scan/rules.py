"""The rules of the scan by their codes, and the marks that detectors leave: a code, a place and how grave it is.

Pure. A mark becomes a finding in `scan`, once its surroundings are weighed.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import msgspec

from skills_runtime.skills.scan.report import Severity
from skills_runtime.skills.scan.text import Text


class Rule(msgspec.Struct, frozen=True):
    """What a code stands for."""

    severity: Severity
    title: str
    why: str
    remedy: str


_DO_NOT_RUN = "do not install it and run nothing of it; report it to where it came from"
_READ = "read the place, and install it only when you know why the skill needs it"
_ASK = "ask its author for a pinned, signed way to install what it needs"

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        # Lures: prose that gets a person or a model to run something.
        "L001": Rule("critical", "an archive with its password in the text",
             "the password keeps virus scanners from looking into what the text asks you to run", _DO_NOT_RUN),
        "L002": Rule("critical", "a command to take from a page for snippets",
             "whoever owns the page can change at any time what is run", _DO_NOT_RUN),
        "L003": Rule("high", "a program to download and run before the skill works",
             "the helper has nothing to do with what the skill says it does", _DO_NOT_RUN),
        "L004": Rule("high", "a page to visit for a command to run",
             "what is run is not in the skill and nobody can check it", _DO_NOT_RUN),
        "L005": Rule("medium", "asks for a command to be pasted into a terminal",
             "a text that presses for a terminal goes around every approval", _READ),
        "L006": Rule("low", "says that nothing works without a helper",
             "false prerequisites are the commonest lure", _READ),
        # Commands and code that run what comes from elsewhere.
        "X001": Rule("critical", "text is decoded and run",
             "the encoding hides from the reader what is run", _DO_NOT_RUN),
        "X002": Rule("critical", "a download from a disposable address is run",
             "an address of that kind belongs to nobody and changes at will", _DO_NOT_RUN),
        "X003": Rule("high", "a download from an unknown host is run",
             "the host has nothing to do with the skill and can serve anything", _ASK),
        "X004": Rule("low", "an installer is run straight from the network",
             "it is the usual installer of a known tool, still unpinned",
             "pin the version, or install the tool from a package"),
        "X005": Rule("critical", "a shell is opened to another machine",
             "it hands the machine to whoever listens", _DO_NOT_RUN),
        "X006": Rule("high", "a Windows program is used to run something hidden",
             "encoded commands and downloads by system programs are made to pass unseen", _DO_NOT_RUN),
        "X007": Rule("high", "code that came over the network is run",
             "what is run is not in the skill and nobody can check it", _DO_NOT_RUN),
        "X008": Rule("high", "a downloaded file is made executable and run",
             "what is run is not in the skill and nobody can check it", _ASK),
        "X009": Rule("high", "a miner of coins", "it uses the machine for somebody else", _DO_NOT_RUN),
        "X010": Rule("high", "deletes everything it can reach", "the loss cannot be undone", _DO_NOT_RUN),
        "X011": Rule("low", "an unpinned package is fetched and run",
             "the next version may be anything", "name an exact version"),
        # Data that leaves.
        "D001": Rule("critical", "secrets are read and sent away",
             "the same code reads secrets and sends them over the network", _DO_NOT_RUN),
        "D002": Rule("high", "secrets are read where data is also sent away",
             "reading and sending are in one skill that says nothing of either", _DO_NOT_RUN),
        "D003": Rule("critical", "the environment is sent away", "it holds the tokens of every tool", _DO_NOT_RUN),
        "D004": Rule("high", "a secret of one service is sent to another host",
             "the name of the variable and the host do not belong together", _DO_NOT_RUN),
        "D006": Rule("medium", "files are read that hold secrets",
             "the description does not say why the skill needs them", _READ),
        "D007": Rule("high", "data is hidden in names that are looked up",
             "looking up a name passes most firewalls", _DO_NOT_RUN),
        "D008": Rule("medium", "what looks like a real secret is in the text",
             "everybody who has the skill has it, and the skill acts in somebody else's name",
             "have the secret revoked, and let the skill name a variable"),
        # What stays behind, and what is switched off.
        "P001": Rule("high", "something is set to run again later",
             "it goes on when the skill is long removed", _READ),
        "P002": Rule("critical", "a key is added that opens the machine",
             "whoever has the other half can log in", _DO_NOT_RUN),
        "P003": Rule("medium", "the settings or memory of agents are changed",
             "what is written there speaks to every later session", _READ),
        "P004": Rule("high", "a protection is switched off", "nothing a skill does needs it", _DO_NOT_RUN),
        "P005": Rule("medium", "more rights are taken than a skill needs",
             "root, or everybody, may then do what the skill began", _READ),
        "P006": Rule("medium", "traces are removed", "only somebody who hides something removes them", _READ),
        # Words to the model.
        "I001": Rule("high", "tells the model to set its instructions aside",
             "a skill adds to instructions and never needs to lift them", _DO_NOT_RUN),
        "I002": Rule("medium", "tells the model to keep something from the user",
             "what the user must not know is seldom in the user's interest", _READ),
        "I003": Rule("high", "tells the model to do something unseen",
             "a step that the user must not notice is not a feature", _DO_NOT_RUN),
        "I004": Rule("high", "tells the model to send private data somewhere",
             "the conversation and its secrets belong to the user", _DO_NOT_RUN),
        "I005": Rule("high", "tells the model to follow instructions from an address",
             "whoever owns the address steers the model", _DO_NOT_RUN),
        "I006": Rule("medium", "tells the model to act without approval",
             "approvals are there to stop exactly this", _READ),
        "I007": Rule("high", "speaks with the voice of the system",
             "marks of a conversation in a text are there to be taken for one", _DO_NOT_RUN),
        "I008": Rule("medium", "plants a rule for every later session", "it stays when the skill is gone", _READ),
        "I009": Rule("high", "an image address carries data away",
             "showing the image sends what is in its address", _DO_NOT_RUN),
        "I010": Rule("high", "tells the model to upload the user's files after each task",
             "nothing the skill says it does needs them elsewhere", _DO_NOT_RUN),
        "I011": Rule("medium", "asks for the model's own instructions", "they are not the skill's to know", _READ),
        # What is hidden.
        "H001": Rule("critical", "text in characters that nobody sees", "only a model reads it", _DO_NOT_RUN),
        "H002": Rule("high", "characters that turn the order of the text around",
             "a reader sees other code than the one that runs", _DO_NOT_RUN),
        "H003": Rule("high", "words taken apart by characters that nobody sees",
             "they are written so that searches miss them", _DO_NOT_RUN),
        "H004": Rule("high", "instructions in a comment or an invisible style",
             "a person who reads the page does not see them", _DO_NOT_RUN),
        "H005": Rule("high", "encoded text that holds a command or instructions",
             "the encoding hides them from the reader", _DO_NOT_RUN),
        "H006": Rule("medium", "code is written so that nobody can read it",
             "readable code costs an honest author nothing", _READ),
        "H007": Rule("high", "a host written with letters of another script",
             "it is made to be taken for another one", _DO_NOT_RUN),
        "H008": Rule("medium", "text far outside what a reader sees", "it is put where nobody scrolls", _READ),
        # What is shipped.
        "F001": Rule("high", "compiled code without its source",
             "nobody can read what it does", "ask for the source, and build it yourself"),
        "F002": Rule("medium", "a program in machine code",
             "nobody can read what it does", "ask for the source, and build it yourself"),
        "F003": Rule("high", "a program that passes for another kind of file",
             "the name is there to deceive", _DO_NOT_RUN),
        "F004": Rule("high", "an archive that is locked by a password",
             "nobody can look into it before it is opened", _DO_NOT_RUN),
        "F005": Rule("medium", "a file that is two kinds of file at once",
             "what a viewer shows is not what runs", _READ),
        "F006": Rule("medium", "a link that leads out of the skill",
             "reading the skill would read another place", _READ),
        "F007": Rule("low", "a hidden file that can be run", "it does not show in a listing", _READ),
        # Remarks.
        "R001": Rule("low", "may run every command without asking",
             "the list of allowed tools has no limits", "name the commands it needs"),
    }
)  # fmt: skip
"""Every code there is."""


MAX_MATCHES = 20
MAX_LINES = 4_000
REACH = 400
"""How far from its word a pattern can begin."""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Something a detector saw."""

    code: str
    severity: Severity
    start: int
    """Where in the text it begins."""
    end: int
    shown: str = ""
    """What to show in its place, where the text itself says nothing."""
    is_certain: bool = False
    """Whether no surroundings make it harmless."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What a skill says of itself, as far as it bears on what it may do."""

    name: str = ""
    description: str = ""
    words: frozenset[str] = frozenset()
    is_about_security: bool = False


class Pattern(msgspec.Struct, frozen=True):
    """An expression, the code it stands for, and words without which it need not be tried."""

    code: str
    severity: Severity
    expression: re.Pattern[str]
    anchors: tuple[str, ...] = ()


def pattern(code: str, expression: str, *anchors: str, severity: Severity | None = None) -> Pattern:
    """A pattern that does not mind capitals."""
    return Pattern(code, severity or RULES[code].severity, re.compile(expression, re.I), anchors)


def matches(patterns: tuple[Pattern, ...], text: Text) -> Iterator[Mark]:
    """Everything the patterns find in a text as a whole."""
    for one in patterns:
        if one.anchors and not any(anchor in text.folded for anchor in one.anchors):
            continue
        for count, match in enumerate(one.expression.finditer(text.body)):
            yield Mark(code=one.code, severity=one.severity, start=match.start(), end=match.end())
            if count >= MAX_MATCHES:
                break


def line_matches(patterns: tuple[Pattern, ...], text: Text) -> Iterator[Mark]:
    """Everything the patterns find in single lines; only lines with one of their words are looked at."""
    for one in patterns:
        for count, (start, end) in enumerate(_lines(text.folded, one.anchors)):
            match = one.expression.search(text.body[start:end])
            if match:
                yield Mark(code=one.code, severity=one.severity, start=start + match.start(), end=start + match.end())
            if count >= MAX_LINES:
                break


def _lines(folded: str, anchors: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """The lines that hold one of some words, each at most once a word, cut down where they are very long."""
    seen: set[int] = set()
    for anchor in anchors:
        place = folded.find(anchor)
        while place >= 0:
            start = max(folded.rfind("\n", 0, place) + 1, place - REACH)
            end = folded.find("\n", place)
            end = min(len(folded) if end < 0 else end, place + 2 * REACH)
            if start not in seen:
                seen.add(start)
                yield start, end
            place = folded.find(anchor, max(end, place + 1))


def mark(code: str, start: int, end: int, severity: Severity | None = None, *, shown: str = "") -> Mark:
    """A mark as grave as its code says, unless something else is said."""
    return Mark(code=code, severity=severity or RULES[code].severity, start=start, end=end, shown=shown)
