"""A seat at a terminal: a screen, a keyboard, and somebody who types when they are asked."""

import io
import os
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

from rich.console import Console

from skills_runtime.cli.terminal import Terminal

END = "\x04"
"""What Ctrl-D sends."""
PROMPTS = ("answer> ", "allow? ", "why? ", "add it? ", "command> ", "arguments> ", "type yes> ", "q to skip> ")

Tty = tuple[int, int]
"""The keyboard and the terminal it belongs to."""


class Screen(io.StringIO):
    """What is shown to somebody who types the next line as soon as a prompt asks for it."""

    def __init__(self, keyboard: int, *lines: str) -> None:
        super().__init__()
        self._keyboard = keyboard
        self._lines = list(lines)

    def write(self, text: str) -> int:
        if text.endswith(PROMPTS) and self._lines:
            os.write(self._keyboard, self._lines.pop(0).encode())
        return super().write(text)


@contextmanager
def open_tty() -> Generator[Tty]:
    ours, theirs = os.openpty()
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


@asynccontextmanager
async def silence() -> AsyncGenerator[None]:
    """Nobody else writes anything."""
    yield


def seated(tty: Tty, *lines: str, width: int = 100, height: int = 1000) -> tuple[Terminal, Screen]:
    """Somebody at a terminal who types these lines."""
    screen = Screen(tty[0], *lines)
    console = Console(file=screen, width=width, height=height, color_system=None, markup=False, highlight=False)
    return Terminal(console, silence, fd=tty[1]), screen
