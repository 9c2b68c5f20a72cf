"""Turns a request into a running program: own session, own terminal if asked for, nothing inherited but its streams."""

import os
import signal
from collections.abc import Mapping, Sequence
from typing import Any

IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


class SpawnFailed(Exception):
    """The program did not start: which step failed, with which number of the system."""

    def __init__(self, step: str, error: OSError) -> None:
        super().__init__(step, error)
        self.step = step
        self.number = error.errno or 0


def spawn(request: Mapping[str, Any], streams: Sequence[int]) -> int:
    """Start the program and return its number once it really runs."""
    _enter(_raw(request["cwd"]))
    try:
        return os.posix_spawn(
            _raw(request["program"]),
            [_raw(word) for word in request["argv"]],
            {_raw(name): _raw(value) for name, value in request["environment"].items()},
            file_actions=_terminal(streams) if request["terminal"] else _pipes(streams),
            setsid=True,
            setsigdef=IGNORED_BY_PYTHON,
        )
    except OSError as error:
        raise SpawnFailed("exec", error) from error
    finally:
        os.chdir("/")


def _enter(directory: bytes) -> None:
    try:
        os.chdir(directory)
    except OSError as error:
        raise SpawnFailed("cwd", error) from error


def _pipes(streams: Sequence[int]) -> "list[tuple[Any, ...]]":
    return [(os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(streams)]


def _terminal(streams: Sequence[int]) -> "list[tuple[Any, ...]]":
    # The leader of a new session gets the first terminal it opens for its own; one handed down would not become that.
    opened = (os.POSIX_SPAWN_OPEN, 0, os.ttyname(streams[0]), os.O_RDWR, 0)
    return [opened, (os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]


def _raw(text: str) -> bytes:
    """The bytes that travelled as characters of the same number, since JSON has no bytes."""
    return text.encode("latin-1")
