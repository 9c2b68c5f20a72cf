"""The files of code that a command names: an approval of the command holds for their content too.

What a program looks up by itself, such as a Makefile, is not named and cannot be known here.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from skills_runtime.ports import Intent
from skills_runtime.safety.guard import Reading, SimpleCommand, program_name, read_argv, read_line
from skills_runtime.safety.guard.judges.interpreters import LANGUAGES
from skills_runtime.safety.guard.judges.shells import SHELLS

MAX_BYTES = 64 << 20
_RUNS_FILES = SHELLS | LANGUAGES.keys() | {"source", "."}
_VERSION = re.compile(r"[\d.]+$")


def scripts_named(intent: Intent, directory: Path) -> dict[str, str]:
    """The digest of every file that the command would run as code, by the name it is given."""
    reading = read_line(intent.line) if intent.line is not None else read_argv(intent.argv)
    places = [directory, *(directory / place for place in _entered(reading))]
    found: dict[str, str] = {}
    for word in _code(reading):
        for place in places:
            digest = _digest(place / word)
            if digest is not None:
                found[os.path.relpath(place / word, directory)] = digest
    return found


def _code(reading: Reading) -> Iterator[str]:
    """The words that may name a file of code."""
    for command in reading.commands:
        program, *rest = command.words
        if program is not None and "/" in program:
            yield program
        if program is not None and _runs_files(program_name(program)):
            yield from (word for word in rest if word is not None and not word.startswith("-"))


def _runs_files(name: str) -> bool:
    return name in _RUNS_FILES or _VERSION.sub("", name) in _RUNS_FILES


def _entered(reading: Reading) -> Iterator[str]:
    """The directories that the line goes to on its way."""
    for command in reading.commands:
        match command:
            case SimpleCommand(words=("cd" | "pushd", str(place))):
                yield place
            case _:
                pass


def _digest(path: Path) -> str | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        return hashlib.sha256(file.read(MAX_BYTES)).hexdigest()
