"""Scan rules by code, findings, and the computation of the verdict."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal

import msgspec

FindingSeverity = Literal["info", "low", "medium", "high", "critical"]
Verdict = Literal["clean", "suspicious", "malicious"]

SEVERITIES: tuple[FindingSeverity, ...] = ("info", "low", "medium", "high", "critical")
"""Severities in ascending order."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One finding in a file of a skill."""

    code: str
    """Code of the rule; stable and documented."""
    severity: FindingSeverity
    title: str
    file: str
    """Path relative to the skill, with `/` separators."""
    line: int
    """First line, from one; zero if it concerns the whole file."""
    excerpt: str
    """The matched text on one line, truncated and escaped for terminals and models."""
    why: str
    remedy: str


class SkippedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was not read completely, and the reason."""

    file: str
    reason: str


class SecurityReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a scan."""

    findings: tuple[Finding, ...]
    """Sorted by descending severity, then by file and line."""
    verdict: Verdict
    score: int
    """50 or more is suspicious, 100 or more malicious."""
    files_read: int
    skipped: tuple[SkippedFile, ...] = ()


def lower_severity(severity: FindingSeverity, steps: int) -> FindingSeverity:
    """Lower a severity by some steps; raise it if the number is negative."""
    index = SEVERITIES.index(severity) - steps
    return SEVERITIES[max(0, min(index, len(SEVERITIES) - 1))]


SUSPICIOUS = 50
MALICIOUS = 100
MAX_WEAK_SCORE = 20
_WEIGHTS = {"info": 0, "low": 5, "medium": 25, "high": 50, "critical": 100}


def build_verdict(findings: Iterable[Finding]) -> tuple[Verdict, int, tuple[Finding, ...]]:
    """Return the verdict, the score and the sorted findings."""
    ordered = tuple(
        sorted(
            findings, key=lambda item: (-SEVERITIES.index(item.severity), item.file, item.line, item.code, item.excerpt)
        )
    )
    worst: dict[str, int] = {}
    for finding in ordered:
        worst[finding.code] = max(worst.get(finding.code, 0), _WEIGHTS[finding.severity])
    weak = sum(weight for weight in worst.values() if weight < _WEIGHTS["medium"])
    score = sum(weight for weight in worst.values() if weight >= _WEIGHTS["medium"]) + min(weak, MAX_WEAK_SCORE)
    verdict: Verdict = "malicious" if score >= MALICIOUS else "suspicious" if score >= SUSPICIOUS else "clean"
    return verdict, score, ordered


class ScanRule(msgspec.Struct, frozen=True):
    """Severity and texts of a rule."""

    severity: FindingSeverity
    title: str
    why: str
    remedy: str


_DO_NOT_RUN = "do not install or run it; report it to its source"
_READ = "read the finding, and install the skill only if you know why it needs this"
_ASK = "ask its author for a pinned, signed way to install it"

SCAN_RULES: Mapping[str, ScanRule] = MappingProxyType(
    {
        # Social engineering: text that makes a person or a model run something.
        "L001": ScanRule("critical", "an archive with its password in the text",
             "the password prevents virus scanners from checking what you are asked to run", _DO_NOT_RUN),
        "L002": ScanRule("critical", "a command to copy from a snippet page",
             "the owner of the page can change the command at any time", _DO_NOT_RUN),
        "L003": ScanRule("high", "a program to download and run before the skill works",
             "the program is unrelated to the purpose of the skill", _DO_NOT_RUN),
        "L004": ScanRule("high", "a web page to visit for a command to run",
             "the code is not in the skill and cannot be reviewed", _DO_NOT_RUN),
        "L005": ScanRule("medium", "asks you to paste a command into a terminal",
             "a command pasted into a terminal bypasses every approval", _READ),
        "L006": ScanRule("low", "claims to need a helper program",
             "false prerequisites are the most common trick", _READ),
        # Commands and code that run downloaded or hidden code.
        "X001": ScanRule("critical", "decodes text and runs it",
             "the encoding hides the code from the reader", _DO_NOT_RUN),
        "X002": ScanRule("critical", "runs a download from a disposable address",
             "such an address has no known owner and can change at any time", _DO_NOT_RUN),
        "X003": ScanRule("high", "runs a download from an unknown host",
             "the host is unrelated to the skill and can serve anything", _ASK),
        "X004": ScanRule("low", "runs an installer directly from the network",
             "it is the usual installer of a known tool, still unpinned",
             "pin the version, or install the tool from a package"),
        "X005": ScanRule("critical", "opens a shell to another machine",
             "it gives control of this machine to the other side", _DO_NOT_RUN),
        "X006": ScanRule("high", "runs a hidden command with a Windows system program",
             "encoded commands and downloads by system programs evade detection", _DO_NOT_RUN),
        "X007": ScanRule("high", "runs code received over the network",
             "the code is not in the skill and cannot be reviewed", _DO_NOT_RUN),
        "X008": ScanRule("high", "makes a downloaded file executable and runs it",
             "the code is not in the skill and cannot be reviewed", _ASK),
        "X009": ScanRule("high", "a cryptocurrency miner", "it uses your machine for another party", _DO_NOT_RUN),
        "X010": ScanRule("high", "deletes everything it can reach", "the loss cannot be undone", _DO_NOT_RUN),
        "X011": ScanRule("low", "fetches and runs an unpinned package",
             "the next version may contain anything", "name an exact version"),
        # Data leaks.
        "D001": ScanRule("critical", "reads secrets and sends them away",
             "the same code reads secrets and sends them over the network", _DO_NOT_RUN),
        "D002": ScanRule("high", "reads secrets and also sends data away",
             "the skill does both and mentions neither", _DO_NOT_RUN),
        "D003": ScanRule("critical", "sends the environment away", "it contains the tokens of every tool", _DO_NOT_RUN),
        "D004": ScanRule("high", "sends a secret of one service to another host",
             "the variable and the host do not belong together", _DO_NOT_RUN),
        "D006": ScanRule("medium", "reads files that contain secrets",
             "the description does not say why the skill needs them", _READ),
        "D007": ScanRule("high", "hides data in DNS lookups",
             "DNS lookups pass most firewalls", _DO_NOT_RUN),
        "D008": ScanRule("medium", "contains what looks like a real secret",
             "everyone with the skill has the secret, and the skill acts as its owner",
             "revoke the secret, and let the skill name a variable"),
        # Persistence and disabled protection.
        "P001": ScanRule("high", "schedules something to run later",
             "it keeps running after the skill is removed", _READ),
        "P002": ScanRule("critical", "adds a key that gives access to the machine",
             "the holder of the private key can log in", _DO_NOT_RUN),
        "P003": ScanRule("medium", "changes the settings or memory of agents",
             "it affects every later session", _READ),
        "P004": ScanRule("high", "turns off a protection", "no skill needs this", _DO_NOT_RUN),
        "P005": ScanRule("medium", "takes more permissions than a skill needs",
             "its commands then run as root, or its files are open to every user", _READ),
        "P006": ScanRule("medium", "removes traces", "honest code has nothing to hide", _READ),
        # Prompt injection.
        "I001": ScanRule("high", "tells the model to ignore its instructions",
             "a skill adds instructions and never needs to override others", _DO_NOT_RUN),
        "I002": ScanRule("medium", "tells the model to hide something from the user",
             "secrets from the user are rarely in the user's interest", _READ),
        "I003": ScanRule("high", "tells the model to act without the user noticing",
             "no legitimate step has to stay unnoticed", _DO_NOT_RUN),
        "I004": ScanRule("high", "tells the model to send private data away",
             "the conversation and its secrets belong to the user", _DO_NOT_RUN),
        "I005": ScanRule("high", "tells the model to follow instructions from a URL",
             "the owner of the URL controls the model", _DO_NOT_RUN),
        "I006": ScanRule("medium", "tells the model to act without approval",
             "approvals exist to prevent this", _READ),
        "I007": ScanRule("high", "imitates system messages",
             "conversation markers in a text try to pass as real messages", _DO_NOT_RUN),
        "I008": ScanRule("medium", "adds a rule for every later session", "it stays after the skill is removed", _READ),
        "I009": ScanRule("high", "sends data in an image URL",
             "showing the image sends the data in its URL", _DO_NOT_RUN),
        "I010": ScanRule("high", "tells the model to upload the user's files after each task",
             "the purpose of the skill does not need this", _DO_NOT_RUN),
        "I011": ScanRule("medium", "asks for the model's instructions", "a skill does not need them", _READ),
        # Hidden content.
        "H001": ScanRule("critical", "text in invisible characters", "only a model reads it", _DO_NOT_RUN),
        "H002": ScanRule("high", "characters that reverse the text direction",
             "the reader sees different code from what runs", _DO_NOT_RUN),
        "H003": ScanRule("high", "words split by invisible characters",
             "this hides them from searches", _DO_NOT_RUN),
        "H004": ScanRule("high", "instructions in a comment or invisible style",
             "a reader of the page does not see them", _DO_NOT_RUN),
        "H005": ScanRule("high", "encoded text that contains a command or instructions",
             "the encoding hides them from the reader", _DO_NOT_RUN),
        "H006": ScanRule("medium", "obfuscated code",
             "an honest author has no reason to obfuscate", _READ),
        "H007": ScanRule("high", "a host name with letters of another script",
             "it imitates another host", _DO_NOT_RUN),
        "H008": ScanRule("medium", "text far outside the visible area", "readers do not scroll there", _READ),
        # Files.
        "F001": ScanRule("high", "compiled code without source",
             "it cannot be reviewed", "ask for the source, and build it yourself"),
        "F002": ScanRule("medium", "a machine code program",
             "it cannot be reviewed", "ask for the source, and build it yourself"),
        "F003": ScanRule("high", "a program disguised as another file type",
             "the name is meant to deceive", _DO_NOT_RUN),
        "F004": ScanRule("high", "a password-protected archive",
             "it cannot be checked before it is opened", _DO_NOT_RUN),
        "F005": ScanRule("medium", "a file with two file types at once",
             "a viewer shows something else than what runs", _READ),
        "F006": ScanRule("medium", "a link that leads out of the skill",
             "reading the skill would read files outside it", _READ),
        "F007": ScanRule("low", "a hidden executable file", "it is not shown in a directory listing", _READ),
        # Notes.
        "R001": ScanRule("low", "may run every command without approval",
             "its `allowed-tools` has no limits", "name the commands it needs"),
    }
)  # fmt: skip
"""All rules by code."""
