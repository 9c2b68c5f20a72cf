"""A pseudo terminal with a program on it, and somebody who reads before they type."""

import codecs
import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.cli.programs import SCRIPTS, TIMEOUT_SECONDS, environment

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# A terminal sends signals only to those whose controlling terminal it is.
SEATED = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
CTRL_C, CTRL_D = "\x03", "\x04"


class Screen:
    """What a program has written, and the keyboard in front of it."""

    def __init__(self, fd: int, process: subprocess.Popen[bytes]) -> None:
        self._fd = fd
        self._process = process
        self._read = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.written = ""

    def expect(self, text: str) -> None:
        """Read until this stands behind what was expected before."""
        while (at := self.text.find(text, self._read)) < 0:
            assert self._more(), f"{text!r} never came:\n{self.text}"
        self._read = at + len(text)

    def expect_one(self, *texts: str) -> str:
        """Read until one of these stands behind what was expected before; which one."""
        while not (places := {at: text for text in texts if (at := self.text.find(text, self._read)) >= 0}):
            assert self._more(), f"none of {texts!r} came:\n{self.text}"
        at = min(places)
        self._read = at + len(places[at])
        return places[at]

    def page_to(self, text: str) -> None:
        """Press enter at the end of each page, until this stands there."""
        while self.expect_one(text, "q to skip> ") != text:
            self.type("\n")

    def type(self, text: str) -> None:
        """Type."""
        os.write(self._fd, text.encode())

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self._more():
            pass
        return self._process.wait(TIMEOUT_SECONDS)

    @property
    def text(self) -> str:
        """What was written, without what moves the cursor."""
        return CONTROL.sub("", self.written).replace("\r\n", "\n")

    def _more(self) -> bool:
        readable, _, _ = select.select([self._fd], [], [], TIMEOUT_SECONDS)
        assert readable, f"nothing came for {TIMEOUT_SECONDS} s:\n{self.text}"
        try:
            piece = os.read(self._fd, 65536)
        except OSError:  # how Linux reports that the other side of a terminal is closed
            return False
        self.written += self._decoder.decode(piece)  # a line editor echoes a character byte by byte
        return bool(piece)


@contextmanager
def on_a_terminal(program: str, *arguments: str, cwd: Path, columns: int = 100) -> Generator[Screen]:
    """A console script on a terminal of its own."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [sys.executable, "-c", SEATED, str(SCRIPTS / program), *arguments]
    variables = environment(TERM="xterm-256color")
    with subprocess.Popen(
        command, cwd=cwd, env=variables, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        try:
            yield Screen(ours, process)
        finally:
            process.kill()
            os.close(ours)
