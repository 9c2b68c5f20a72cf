"""The corpus: commands with the level, the reason and whether they may run under a small allowlist."""

from pathlib import Path
from typing import Any

import msgspec
import yaml

from skills_runtime.safety.guard import LEVELS, Level, Reading, program_name

ALLOWED = frozenset({"echo", "cat", "git", "pytest"})
"""The allowlist that the column `allowed` is about."""


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One command and what the guard must say of it."""

    line: str
    level: Level
    unclear: bool = False
    allowed: bool = False
    reason: str = ""


def _load() -> tuple[Row, ...]:
    found: list[Any] = []
    for file in sorted(Path(__file__).parent.glob("corpus_*.yaml")):
        found.extend(yaml.load(file.read_text(), Loader=yaml.CSafeLoader))
    return tuple(msgspec.convert(found, list[Row]))


ROWS = _load()


def may_run(reading: Reading) -> bool:
    """Whether every program is one of the allowed ones, and nothing else speaks against the line."""
    named = all(command.words[0] and program_name(command.words[0]) in ALLOWED for command in reading.commands)
    quiet = not reading.unclear and not reading.writes and reading.risk.level != "high"
    return bool(reading.commands) and named and quiet


def height(reading: Reading) -> int:
    """The level as a number, to compare."""
    return LEVELS.index(reading.risk.level)
