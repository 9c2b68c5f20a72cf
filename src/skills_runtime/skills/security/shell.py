"""Finds in commands what runs things from elsewhere, sends things away, stays behind or switches protections off."""

import re
from collections.abc import Iterator, Sequence

from skills_runtime.skills.security.downloads import FETCHERS, PACKAGERS, download_marks, package_marks
from skills_runtime.skills.security.marks import Mark, Pattern, Profile, mark
from skills_runtime.skills.security.report import Severity
from skills_runtime.skills.security.sending import SENDERS, sending_marks
from skills_runtime.skills.security.shell_lines import Command, commands
from skills_runtime.skills.security.shell_rules import PATTERNS


def shell_marks(body: str, start: int, end: int, profile: Profile) -> Iterator[Mark]:
    """Everything in a stretch of commands."""
    block = list(commands(body, start, end))
    folded = "\n".join(command.straight for command in block).lower()
    patterns = [one for one in PATTERNS if any(anchor in folded for anchor in one.anchors)]
    sends = any(anchor in folded for anchor in SENDERS)
    for command in block if patterns or sends else ():
        if len(command.straight) < 4:
            continue
        yield from _in_command(command, patterns)
        if sends:
            yield from sending_marks(command, profile)
    for command in block if any(anchor in folded for anchor in PACKAGERS) else ():
        yield from package_marks(command)
    if any(anchor in folded for anchor in FETCHERS):
        yield from download_marks(block, body[start:end], profile)


def _in_command(command: Command, patterns: Sequence[Pattern]) -> Iterator[Mark]:
    line = command.straight
    folded = line.lower()
    for one in patterns:
        if not any(anchor in folded for anchor in one.anchors):
            continue
        match = one.expression.search(line)
        if match:
            severity = _opened(line) if one.code == "P002" else one.severity
            yield mark(one.code, command.start, command.end, severity, shown=match[0])


def _opened(line: str) -> Severity:
    """A key that is there, or comes from an address, opens the machine; a placeholder shows how it is done."""
    return "critical" if re.search(r"AAAA[A-Za-z0-9+/]{20,}|https?://|\$\(|base64", line) else "low"
