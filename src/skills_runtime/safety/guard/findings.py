"""What has been found so far while a command is read: it only ever gets worse."""

from skills_runtime.safety.guard.facts import LEVELS, Level, Reading, Risk, SimpleCommand
from skills_runtime.safety.guard.syntax import Span
from skills_runtime.safety.guard.text import shortened

MAX_WORK = 20_000
"""Nodes and words of one reading; what is left after that is not read, and said to be unclear."""


class Findings:
    """Collects commands, reads, writes, hosts, the worst risk, and the first thing that was not understood."""

    __slots__ = ("_height", "_risk", "commands", "hosts", "reads", "unclear", "work", "writes")

    def __init__(self) -> None:
        self.commands: list[SimpleCommand] = []
        self.writes: list[str | None] = []
        self.reads: list[str | None] = []
        self.hosts: dict[str, None] = {}
        self.unclear = ""
        self.work = 0
        self._height = 0
        self._risk: tuple[str, str, Span | None] = ("", "", None)

    def worsen(self, level: Level, reason: str, part: str, span: Span | None) -> None:
        """Take a risk into account; the first of the worst ones is kept."""
        height = LEVELS.index(level)
        if height > self._height:
            self._height = height
            self._risk = (reason, part, span)

    def puzzle(self, reason: str, part: str, span: Span | None) -> None:
        """Take note of something that is not understood."""
        self.unclear = self.unclear or reason
        self.worsen("medium", reason, part, span)

    def spend(self, work: int = 1) -> bool:
        """Whether there is work left to spend."""
        self.work += work
        if self.work <= MAX_WORK:
            return True
        self.puzzle("the command is too large to be read", "", None)
        return False

    def reading(self) -> Reading:
        """Everything as one value."""
        reason, part, span = self._risk
        return Reading(
            commands=tuple(self.commands),
            writes=tuple(self.writes),
            reads=tuple(self.reads),
            hosts=tuple(self.hosts),
            unclear=self.unclear,
            risk=Risk(level=LEVELS[self._height], reason=reason, part=shortened(part), span=span),
        )
