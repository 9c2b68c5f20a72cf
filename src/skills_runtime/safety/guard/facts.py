"""Values that describe a call for the rules, and their collector."""

from typing import Literal

import msgspec

from skills_runtime.ports import Effect, FileTouch, ToolApproval
from skills_runtime.text import one_line

Level = Literal["low", "medium", "high"]
LEVELS: tuple[Level, ...] = ("low", "medium", "high")
Span = tuple[int, int]
"""Start and end in the original text, in characters."""
MAX_PART_CHARS = 120


class Risk(msgspec.Struct, frozen=True, kw_only=True):
    """How dangerous a call may be, why, and which part of it is the reason."""

    level: Level = "low"
    reason: str = ""
    """One short sentence without a full stop, such as `deletes a whole tree`."""
    part: str = ""
    """The words of the command, or the path, that caused it."""
    span: tuple[int, int] | None = None
    """Position of that part in the command line, in characters."""


class SimpleCommand(msgspec.Struct, frozen=True, kw_only=True):
    """One program that a line would run, without its wrappers."""

    words: tuple[str | None, ...]
    """The program's name and its arguments; None for a word only the running shell knows."""
    text: str
    """The source text."""
    span: tuple[int, int] | None = None
    depth: int = 0
    """Number of wrappers around it, such as `env` or `bash -c`."""
    settled: bool = False
    """Whether its unknown words can only name what it reads."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What a command line would do, as far as it can be analyzed."""

    commands: tuple[SimpleCommand, ...] = ()
    """Every program it would run: wrappers and what they wrap."""
    writes: tuple[str | None, ...] = ()
    """The files its redirections write; None for a name only the running shell knows."""
    reads: tuple[str | None, ...] = ()
    """The files its redirections read: each name, or None and the known text of an uncertain one."""
    hosts: tuple[str, ...] = ()
    """The hosts it names."""
    unclear: str = ""
    """What was not understood; empty if everything was."""
    risk: Risk = Risk()


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """A call as the rules see it."""

    tool: str
    effect: Effect = "effectful"
    commands: tuple[SimpleCommand, ...] = ()
    writes: tuple[str | None, ...] = ()
    reads: tuple[str | None, ...] = ()
    files: tuple[FileTouch, ...] = ()
    hosts: tuple[str, ...] = ()
    skill: str = ""
    skill_digest: str = ""
    is_built_in: bool = False
    """Whether the skill is part of the runtime."""
    directory: str = "."
    """The working directory of the call."""
    variables: tuple[str, ...] = ()
    """The names of the environment variables it sets."""
    escalated: bool = False
    approval: ToolApproval | None = None
    """What the tool itself says about approvals."""
    contained: bool = False
    """Whether its commands run in the sandbox of the run, and its files are those of the workspace."""
    unclear: str = ""
    risk: Risk = Risk()


# Bounds the nodes and words of one analysis; the rest is reported as unclear.
MAX_WORK = 20_000


class Findings:
    """Collects commands, reads, writes, hosts, the worst risk, and the first thing that was not understood."""

    __slots__ = ("_level_index", "_risk", "commands", "hosts", "reads", "unclear", "work", "writes")

    def __init__(self) -> None:
        self.commands: list[SimpleCommand] = []
        self.writes: list[str | None] = []
        self.reads: list[str | None] = []
        self.hosts: dict[str, None] = {}
        self.unclear = ""
        self.work = 0
        self._level_index = 0
        self._risk: tuple[str, str, Span | None] = ("", "", None)

    def add_risk(self, level: Level, reason: str, part: str, span: Span | None) -> None:
        """Record a risk; among equals the first stays."""
        height = LEVELS.index(level)
        if height > self._level_index:
            self._level_index = height
            self._risk = (reason, part, span)

    def mark_unclear(self, reason: str, part: str, span: Span | None) -> None:
        """Record something that is not understood."""
        self.unclear = self.unclear or reason
        self.add_risk("medium", reason, part, span)

    def spend(self, work: int = 1) -> bool:
        """Return whether the work limit allows more work."""
        self.work += work
        if self.work <= MAX_WORK:
            return True
        self.mark_unclear("the command is too large to be read", "", None)
        return False

    def reading(self) -> Reading:
        """Return all findings as one value."""
        reason, part, span = self._risk
        return Reading(
            commands=tuple(self.commands),
            writes=tuple(self.writes),
            reads=tuple(self.reads),
            hosts=tuple(self.hosts),
            unclear=self.unclear,
            risk=Risk(
                level=LEVELS[self._level_index], reason=reason, part=one_line(part, limit=MAX_PART_CHARS), span=span
            ),
        )
