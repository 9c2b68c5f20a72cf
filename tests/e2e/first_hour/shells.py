"""A terminal with bash in it, into which somebody types the commands of a page, line by line."""

import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

TIMEOUT_SECONDS = 60
COLUMNS = 100
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b[=>]")
PROMPT = re.compile("\x1f(\\d+|>)\x1e")
PROMPTS = {"PS1": "\x1f$?\x1e", "PS2": "\x1f>\x1e"}
# A shell has job control only on the terminal that controls it.
SEATED = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
BASH = ("/bin/bash", "--norc", "--noprofile", "--noediting", "-i")
CTRL_C = "\x03"

Talk = Callable[["Shell"], object]
"""What the user does at the prompts of a command that has just been started."""


class CommandFailed(AssertionError):
    """A command of a page ended otherwise than the page says."""


class Shell:
    """Bash on a terminal of its own; `output` is what the last command has written."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._raw = ""
        self._read = 0
        self.output = ""

    def run(self, code: str, talks: Mapping[str, Talk], *, fails: bool = False) -> str:
        """Type the lines of a block; a talk whose pattern matches a line takes part in it. Return all output."""
        outputs: list[str] = []
        for line in code.splitlines():
            status = self._type_line(line, next((talk for part, talk in talks.items() if re.search(part, line)), None))
            outputs.append(self.output)
            if status is not None and (status != 0) != fails:
                raise CommandFailed(f"`{line}` ended with {status}:\n{self.output}")
        return "".join(outputs)

    def start(self, line: str) -> Self:
        """Type a command that goes on; `expect` and `wait` follow."""
        self._begin()
        self.type(f"{line}\n")
        return self

    def wait(self) -> int | None:
        """Read up to the next prompt: the exit code, or nothing if the line goes on."""
        while not (prompt := PROMPT.search(self._raw)):
            self._more()
        self.output = self.text[: self.text.find("\x1f")]
        return None if prompt[1] == ">" else int(prompt[1])

    def expect(self, *texts: str) -> str:
        """Read until one of these stands behind what was expected before, and return it."""
        while True:
            places = {text: place for text in texts if (place := self.text.find(text, self._read)) >= 0}
            if places:
                first = min(places, key=lambda text: places[text])
                self._read = places[first] + len(first)
                return first
            if PROMPT.search(self._raw):
                raise CommandFailed(f"{texts} never came:\n{self.text}")
            self._more()

    def watch(self, text: str) -> None:
        """Read until a job in the background has written this."""
        while text not in self.text:
            self._more()

    def type(self, text: str) -> None:
        """Type."""
        os.write(self._fd, text.encode())

    @property
    def text(self) -> str:
        """What the command has written so far, without what moves the cursor."""
        return CONTROL.sub("", self._raw).replace("\r\n", "\n")

    def _type_line(self, line: str, talk: Talk | None) -> int | None:
        self.start(line)
        if talk is not None:
            talk(self)
        return self.wait()

    def _begin(self) -> None:
        self._raw, self._read = "", 0

    def _more(self) -> None:
        readable, _, _ = select.select([self._fd], [], [], TIMEOUT_SECONDS)
        if not readable:
            raise CommandFailed(f"nothing came for {TIMEOUT_SECONDS} s:\n{self.text}")
        self._raw += os.read(self._fd, 65536).decode(errors="replace")


@contextmanager
def open_shell(environment: Mapping[str, str], cwd: Path) -> Generator[Shell]:
    """Open a terminal; everything that was started in it ends with the block."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    settings = termios.tcgetattr(theirs)
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    variables = {**environment, **PROMPTS, "TERM": "xterm-256color"}
    with subprocess.Popen(
        [sys.executable, "-c", SEATED, *BASH], cwd=cwd, env=variables, stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
    ) as process:  # fmt: skip
        os.close(theirs)
        shell = Shell(ours)
        try:
            shell.wait()
            yield shell
        finally:
            os.close(ours)  # hangs up: bash tells its jobs
            process.kill()
