"""A run for programs: the log itself, byte for byte, as it is written."""

import os
from pathlib import Path
from typing import BinaryIO

from skills_runtime.cli.errors import say
from skills_runtime.cli.execution import Ending
from skills_runtime.events import Event
from skills_runtime.projections import RunState
from skills_runtime.runs import RunPaths

_CHUNK = 1 << 20


class LogView:
    """Copies the complete lines of a log to a stream as the log grows."""

    def __init__(self, output: BinaryIO) -> None:
        self._output = output
        self._fd = -1
        self._offset = 0

    def begin(self, root: Path, state: RunState) -> None:
        """Write what is there already."""
        self._fd = os.open(RunPaths(root).events, os.O_RDONLY | os.O_CLOEXEC)
        self._copy()

    def take(self, event: Event) -> None:
        """Write what has come."""
        self._copy()

    def stopping(self) -> None:
        """The log will tell."""

    def hold(self) -> None:
        """Nobody is asked."""

    def release(self) -> None:
        """Nobody was asked."""

    def end(self, ending: Ending) -> None:
        """Write the rest; only what the log cannot tell is said elsewhere."""
        self._copy()
        if ending.trouble:
            say(ending.trouble.message, kind=ending.trouble.kind, hint=ending.trouble.hint)

    def close(self) -> None:
        """Let go of the log."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _copy(self) -> None:
        pieces: list[bytes] = []
        offset = self._offset
        while chunk := os.pread(self._fd, _CHUNK, offset):
            offset += len(chunk)
            pieces.append(chunk)
        data = b"".join(pieces)
        complete = data[: data.rfind(b"\n") + 1]
        if complete:
            self._offset += len(complete)
            self._output.write(complete)
            self._output.flush()
