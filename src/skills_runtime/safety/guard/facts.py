"""What the guard found out about a call: the only thing the rules look at."""

from typing import Literal

import msgspec

from skills_runtime.ports import Effect, FileTouch

Level = Literal["low", "medium", "high"]
LEVELS: tuple[Level, ...] = ("low", "medium", "high")


class Risk(msgspec.Struct, frozen=True, kw_only=True):
    """How bad a call could be, why, and which part of it is the reason."""

    level: Level = "low"
    reason: str = ""
    """One short sentence without a full stop, such as `deletes a whole tree`."""
    part: str = ""
    """The words of the command, or the path, that caused it."""
    span: tuple[int, int] | None = None
    """Where that part stands in the command line, in characters."""


class SimpleCommand(msgspec.Struct, frozen=True, kw_only=True):
    """One program that a line would run, after everything around it was opened up."""

    words: tuple[str | None, ...]
    """The program's name and its arguments; a word whose value only the running shell knows is nothing."""
    text: str
    """As it is written."""
    span: tuple[int, int] | None = None
    depth: int = 0
    """How many wrappers, such as `env` or `bash -c`, stand around it."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What a command line would do, as far as it can be read."""

    commands: tuple[SimpleCommand, ...] = ()
    """Every program it would run: the wrappers themselves and what they wrap."""
    writes: tuple[str | None, ...] = ()
    """The files its redirections write; one whose name only the running shell knows is nothing."""
    reads: tuple[str | None, ...] = ()
    """The files its redirections read: names; where one is not certain, nothing and what is written of it."""
    hosts: tuple[str, ...] = ()
    """The hosts it names."""
    unclear: str = ""
    """What could not be understood; empty when everything was."""
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
    directory: str = "."
    """Where its commands start, as the call names it."""
    variables: tuple[str, ...] = ()
    """The names of the environment variables it sets."""
    escalated: bool = False
    unclear: str = ""
    risk: Risk = Risk()
