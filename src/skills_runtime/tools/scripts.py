"""Digests of the code files that a command names: an approval covers their content, too.

Files that a program finds by itself, such as a Makefile, are not named and stay unknown.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from skills_runtime.ports import Intent
from skills_runtime.safety.guard import LANGUAGES, SHELLS, Reading, SimpleCommand, program_name, read_argv, read_line

MAX_BYTES = 64 << 20
"""Bytes read of each file."""
_RUNS_FILES = SHELLS | LANGUAGES.keys() | {"source", ".", "awk", "gawk", "mawk", "sed", "make", "cmake", "ninja"}
_VERSION = re.compile(r"[\d.]+$")
_ATTACHED_VALUE = re.compile(r"--?[\w-]+=(.+)|-[A-Za-z](.+)")
"""The value of an option written in the same word."""
_ASSIGNMENT = re.compile(r"\b[A-Za-z_]\w*=([^\s;&|]+)")


def digest_scripts(intent: Intent, directory: Path) -> dict[str, str]:
    """Return the digest of every file that the command would run as code, by relative path."""
    reading = read_line(intent.line) if intent.line is not None else read_argv(intent.argv)
    directories = _working_directories(reading, directory)
    digests: dict[str, str] = {}
    names = (*_code(reading), *_ASSIGNMENT.findall(intent.line or ""), *intent.environment.values())
    for name in dict.fromkeys(names):
        for base in directories:
            digest = _digest(base / name)
            if digest is not None:
                digests[os.path.relpath(base / name, directory)] = digest
    return digests


def _code(reading: Reading) -> Iterator[str]:
    """Yield the words that may name a code file; every word of a line that pipes into an interpreter."""
    programs = [command.words[0] or "" for command in reading.commands if command.words]
    names = [program_name(program) for program in programs]
    runs = [name in _RUNS_FILES or _VERSION.sub("", name) in _RUNS_FILES for name in names]
    for command, program, interprets in zip(reading.commands, programs, runs, strict=True):
        if "/" in program:
            yield program
        if interprets or (any(runs) and len(programs) > 1):
            yield from _values(command)
        yield from _values(command) if "=" in program else ()
    if any(runs):
        yield from filter(None, reading.reads)


def _values(command: SimpleCommand) -> Iterator[str]:
    for word in filter(None, command.words[1:]):
        attached = _ATTACHED_VALUE.fullmatch(word)
        yield (attached[1] or attached[2]) if attached else word


def _working_directories(reading: Reading, directory: Path) -> list[Path]:
    """Return the directories that the line may be in: each one it changes to, from each one before."""
    directories = [directory]
    for command in reading.commands:
        words = [word for word in command.words if word is not None]
        if words and words[0] in ("cd", "pushd"):
            targets = [word for word in words[1:] if not word.startswith("-")]
        else:
            targets = [value for option, value in pairwise(words) if option in ("-C", "--chdir")]
        directories += [base / target for base in directories for target in targets if len(directories) < 16]
    return directories


def _digest(path: Path) -> str | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return None
        with open(fd, "rb", closefd=False) as file:
            digest = hashlib.sha256(file.read(MAX_BYTES))
        if status.st_size > MAX_BYTES:  # any change beyond the limit changes one of these
            digest.update(f"{status.st_size} {status.st_ino} {status.st_ctime_ns}".encode())
        return digest.hexdigest()
    except OSError:
        return None
    finally:
        os.close(fd)
