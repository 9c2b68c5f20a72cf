"""The rules of the scan by their codes, what it finds by them, and how findings add up to a verdict."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal

import msgspec

FindingSeverity = Literal["info", "low", "medium", "high", "critical"]
Verdict = Literal["clean", "suspicious", "malicious"]

SEVERITIES: tuple[FindingSeverity, ...] = ("info", "low", "medium", "high", "critical")
"""From what is only worth knowing to what nobody needs who means well."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was found in a file of a skill."""

    code: str
    """Which rule it is; stable, and listed in the documentation."""
    severity: FindingSeverity
    title: str
    file: str
    """The file below the skill, with `/` between names."""
    line: int
    """The line it begins at, from one; nought where the file as a whole is meant."""
    excerpt: str
    """The place on one line, cut short, with nothing in it that a terminal or a model could take for more."""
    why: str
    remedy: str


class SkippedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was not read, or not to its end, and why."""

    file: str
    reason: str


class SecurityReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a scan of one directory came to."""

    findings: tuple[Finding, ...]
    """The gravest first, then by file and line."""
    verdict: Verdict
    score: int
    """How much there is against it: 50 makes it suspicious, 100 malicious."""
    files_read: int
    skipped: tuple[SkippedFile, ...] = ()


def lower_severity(severity: FindingSeverity, steps: int) -> FindingSeverity:
    """The severity so many steps further down, or further up for a negative number."""
    place = SEVERITIES.index(severity) - steps
    return SEVERITIES[max(0, min(place, len(SEVERITIES) - 1))]


SUSPICIOUS = 50
MALICIOUS = 100
WEAK_AT_MOST = 20
_WEIGHTS = {"info": 0, "low": 5, "medium": 25, "high": 50, "critical": 100}


def build_verdict(findings: Iterable[Finding]) -> tuple[Verdict, int, tuple[Finding, ...]]:
    """The verdict, the score, and the findings in the order in which to read them."""
    ordered = tuple(
        sorted(findings, key=lambda one: (-SEVERITIES.index(one.severity), one.file, one.line, one.code, one.excerpt))
    )
    worst: dict[str, int] = {}
    for finding in ordered:
        worst[finding.code] = max(worst.get(finding.code, 0), _WEIGHTS[finding.severity])
    weak = sum(weight for weight in worst.values() if weight < _WEIGHTS["medium"])
    score = sum(weight for weight in worst.values() if weight >= _WEIGHTS["medium"]) + min(weak, WEAK_AT_MOST)
    verdict: Verdict = "malicious" if score >= MALICIOUS else "suspicious" if score >= SUSPICIOUS else "clean"
    return verdict, score, ordered


class ScanRule(msgspec.Struct, frozen=True):
    """What a code stands for."""

    severity: FindingSeverity
    title: str
    why: str
    remedy: str


_DO_NOT_RUN = "do not install it and run nothing of it; report it to where it came from"
_READ = "read the place, and install it only when you know why the skill needs it"
_ASK = "ask its author for a pinned, signed way to install what it needs"

SCAN_RULES: Mapping[str, ScanRule] = MappingProxyType(
    {
        # Lures: prose that gets a person or a model to run something.
        "L001": ScanRule("critical", "an archive with its password in the text",
             "the password keeps virus scanners from looking into what the text asks you to run", _DO_NOT_RUN),
        "L002": ScanRule("critical", "a command to take from a page for snippets",
             "whoever owns the page can change at any time what is run", _DO_NOT_RUN),
        "L003": ScanRule("high", "a program to download and run before the skill works",
             "the helper has nothing to do with what the skill says it does", _DO_NOT_RUN),
        "L004": ScanRule("high", "a page to visit for a command to run",
             "what is run is not in the skill and nobody can check it", _DO_NOT_RUN),
        "L005": ScanRule("medium", "asks for a command to be pasted into a terminal",
             "a text that presses for a terminal goes around every approval", _READ),
        "L006": ScanRule("low", "says that nothing works without a helper",
             "false prerequisites are the commonest lure", _READ),
        # Commands and code that run what comes from elsewhere.
        "X001": ScanRule("critical", "text is decoded and run",
             "the encoding hides from the reader what is run", _DO_NOT_RUN),
        "X002": ScanRule("critical", "a download from a disposable address is run",
             "an address of that kind belongs to nobody and changes at will", _DO_NOT_RUN),
        "X003": ScanRule("high", "a download from an unknown host is run",
             "the host has nothing to do with the skill and can serve anything", _ASK),
        "X004": ScanRule("low", "an installer is run straight from the network",
             "it is the usual installer of a known tool, still unpinned",
             "pin the version, or install the tool from a package"),
        "X005": ScanRule("critical", "a shell is opened to another machine",
             "it hands the machine to whoever listens", _DO_NOT_RUN),
        "X006": ScanRule("high", "a Windows program is used to run something hidden",
             "encoded commands and downloads by system programs are made to pass unseen", _DO_NOT_RUN),
        "X007": ScanRule("high", "code that came over the network is run",
             "what is run is not in the skill and nobody can check it", _DO_NOT_RUN),
        "X008": ScanRule("high", "a downloaded file is made executable and run",
             "what is run is not in the skill and nobody can check it", _ASK),
        "X009": ScanRule("high", "a miner of coins", "it uses the machine for somebody else", _DO_NOT_RUN),
        "X010": ScanRule("high", "deletes everything it can reach", "the loss cannot be undone", _DO_NOT_RUN),
        "X011": ScanRule("low", "an unpinned package is fetched and run",
             "the next version may be anything", "name an exact version"),
        # Data that leaves.
        "D001": ScanRule("critical", "secrets are read and sent away",
             "the same code reads secrets and sends them over the network", _DO_NOT_RUN),
        "D002": ScanRule("high", "secrets are read where data is also sent away",
             "reading and sending are in one skill that says nothing of either", _DO_NOT_RUN),
        "D003": ScanRule("critical", "the environment is sent away", "it holds the tokens of every tool", _DO_NOT_RUN),
        "D004": ScanRule("high", "a secret of one service is sent to another host",
             "the name of the variable and the host do not belong together", _DO_NOT_RUN),
        "D006": ScanRule("medium", "files are read that hold secrets",
             "the description does not say why the skill needs them", _READ),
        "D007": ScanRule("high", "data is hidden in names that are looked up",
             "looking up a name passes most firewalls", _DO_NOT_RUN),
        "D008": ScanRule("medium", "what looks like a real secret is in the text",
             "everybody who has the skill has it, and the skill acts in somebody else's name",
             "have the secret revoked, and let the skill name a variable"),
        # What stays behind, and what is switched off.
        "P001": ScanRule("high", "something is set to run again later",
             "it goes on when the skill is long removed", _READ),
        "P002": ScanRule("critical", "a key is added that opens the machine",
             "whoever has the other half can log in", _DO_NOT_RUN),
        "P003": ScanRule("medium", "the settings or memory of agents are changed",
             "what is written there speaks to every later session", _READ),
        "P004": ScanRule("high", "a protection is switched off", "nothing a skill does needs it", _DO_NOT_RUN),
        "P005": ScanRule("medium", "more rights are taken than a skill needs",
             "root, or everybody, may then do what the skill began", _READ),
        "P006": ScanRule("medium", "traces are removed", "only somebody who hides something removes them", _READ),
        # Words to the model.
        "I001": ScanRule("high", "tells the model to set its instructions aside",
             "a skill adds to instructions and never needs to lift them", _DO_NOT_RUN),
        "I002": ScanRule("medium", "tells the model to keep something from the user",
             "what the user must not know is seldom in the user's interest", _READ),
        "I003": ScanRule("high", "tells the model to do something unseen",
             "a step that the user must not notice is not a feature", _DO_NOT_RUN),
        "I004": ScanRule("high", "tells the model to send private data somewhere",
             "the conversation and its secrets belong to the user", _DO_NOT_RUN),
        "I005": ScanRule("high", "tells the model to follow instructions from an address",
             "whoever owns the address steers the model", _DO_NOT_RUN),
        "I006": ScanRule("medium", "tells the model to act without approval",
             "approvals are there to stop exactly this", _READ),
        "I007": ScanRule("high", "speaks with the voice of the system",
             "marks of a conversation in a text are there to be taken for one", _DO_NOT_RUN),
        "I008": ScanRule("medium", "plants a rule for every later session", "it stays when the skill is gone", _READ),
        "I009": ScanRule("high", "an image address carries data away",
             "showing the image sends what is in its address", _DO_NOT_RUN),
        "I010": ScanRule("high", "tells the model to upload the user's files after each task",
             "nothing the skill says it does needs them elsewhere", _DO_NOT_RUN),
        "I011": ScanRule("medium", "asks for the model's own instructions", "they are not the skill's to know", _READ),
        # What is hidden.
        "H001": ScanRule("critical", "text in characters that nobody sees", "only a model reads it", _DO_NOT_RUN),
        "H002": ScanRule("high", "characters that turn the order of the text around",
             "a reader sees other code than the one that runs", _DO_NOT_RUN),
        "H003": ScanRule("high", "words taken apart by characters that nobody sees",
             "they are written so that searches miss them", _DO_NOT_RUN),
        "H004": ScanRule("high", "instructions in a comment or an invisible style",
             "a person who reads the page does not see them", _DO_NOT_RUN),
        "H005": ScanRule("high", "encoded text that holds a command or instructions",
             "the encoding hides them from the reader", _DO_NOT_RUN),
        "H006": ScanRule("medium", "code is written so that nobody can read it",
             "readable code costs an honest author nothing", _READ),
        "H007": ScanRule("high", "a host written with letters of another script",
             "it is made to be taken for another one", _DO_NOT_RUN),
        "H008": ScanRule("medium", "text far outside what a reader sees", "it is put where nobody scrolls", _READ),
        # What is shipped.
        "F001": ScanRule("high", "compiled code without its source",
             "nobody can read what it does", "ask for the source, and build it yourself"),
        "F002": ScanRule("medium", "a program in machine code",
             "nobody can read what it does", "ask for the source, and build it yourself"),
        "F003": ScanRule("high", "a program that passes for another kind of file",
             "the name is there to deceive", _DO_NOT_RUN),
        "F004": ScanRule("high", "an archive that is locked by a password",
             "nobody can look into it before it is opened", _DO_NOT_RUN),
        "F005": ScanRule("medium", "a file that is two kinds of file at once",
             "what a viewer shows is not what runs", _READ),
        "F006": ScanRule("medium", "a link that leads out of the skill",
             "reading the skill would read another place", _READ),
        "F007": ScanRule("low", "a hidden file that can be run", "it does not show in a listing", _READ),
        # Remarks.
        "R001": ScanRule("low", "may run every command without asking",
             "the list of allowed tools has no limits", "name the commands it needs"),
    }
)  # fmt: skip
"""Every code there is."""
