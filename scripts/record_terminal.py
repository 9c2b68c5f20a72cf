"""Run a command on a pseudo terminal and write what it prints as an animated SVG.

    python -m scripts.record_terminal docs/images/demo.svg skills-runtime demo

Each line appears when the command printed it. Long pauses are shortened, so that the recording stays short. An
approval is given with `y`.
"""

import fcntl
import os
import pty
import re
import struct
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

COLUMNS, ROWS = 88, 48
CELL_WIDTH, LINE_HEIGHT, MARGIN, BAR = 8.4, 19, 18, 34
LONGEST_PAUSE_SEC, SHORTEST_STEP_SEC, HOLD_SEC = 0.9, 0.12, 6.0
BACKGROUND, FOREGROUND, DIM = "#14161a", "#e6e6e6", "#8b919b"
FONT = 'ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace'
COLORS = ("#5c6370", "#e06c75", "#7ec384", "#e2b86b", "#61afef", "#c678dd", "#56b6c2", "#dcdfe4")
QUESTION = "allow? "
TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b\][^\x07]*\x07|([\r\n\b])|([^\x1b\r\n\b]+)")


@dataclass(frozen=True)
class Style:
    """How a character looks."""

    color: str = FOREGROUND
    bold: bool = False


@dataclass
class Line:
    """The characters of one line, and when the first of them was printed."""

    cells: list[tuple[str, Style]] = field(default_factory=list[tuple[str, Style]])
    printed_at: float = 0.0

    @property
    def text(self) -> str:
        """The characters without their style."""
        return "".join(character for character, _ in self.cells)


class Screen:
    """A terminal that understands colors, carriage returns, moving up and erasing: what our programs print."""

    def __init__(self) -> None:
        self.lines: list[Line] = [Line()]
        self._row = self._column = 0
        self._style = Style()

    def write(self, text: str, now: float) -> None:
        """Print text at a time in seconds."""
        for parameters, command, control, characters in TOKEN.findall(text):
            if characters:
                self._print(characters, now)
            elif control:
                self._control(control)
            elif command:
                self._escape(command, [int(number or 0) for number in parameters.lstrip("?").split(";")])

    def _print(self, text: str, now: float) -> None:
        line = self.lines[self._row]
        if not line.text.strip():
            line.printed_at = now
        line.cells.extend([(" ", Style())] * (self._column - len(line.cells)))
        line.cells[self._column : self._column + len(text)] = [(character, self._style) for character in text]
        self._column += len(text)

    def _control(self, control: str) -> None:
        if control == "\n":
            self._row += 1
            if self._row == len(self.lines):
                self.lines.append(Line())
        self._column = max(0, self._column - 1) if control == "\b" else 0

    def _escape(self, command: str, numbers: list[int]) -> None:
        line = self.lines[self._row]
        if command == "m":
            for number in numbers:
                self._style = _styled(self._style, number)
        elif command == "A":
            self._row = max(0, self._row - max(1, numbers[0]))
        elif command == "K":
            line.cells = [] if numbers[0] == 2 else line.cells[: self._column]
        elif command == "J":
            del self.lines[self._row + 1 :]
            line.cells = line.cells[: self._column]


def _styled(style: Style, number: int) -> Style:
    match number:
        case 0:
            return Style()
        case 1:
            return Style(style.color, bold=True)
        case 2:
            return Style(DIM, style.bold)
        case 22 | 39:
            return Style(FOREGROUND, bold=style.bold and number == 39)
        case _ if 30 <= number <= 37:
            return Style(COLORS[number - 30], style.bold)
        case _ if 90 <= number <= 97:
            return Style(COLORS[number - 90], style.bold)
        case _:
            return style


def record(command: list[str]) -> Screen:
    """Run a command on a terminal of its own, up to its end; raise `SystemExit` if it fails."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS=str(COLUMNS))
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    screen, start, data = Screen(), time.monotonic(), b""
    while piece := _read(terminal):
        data += piece
        text = data.decode(errors="ignore") if _is_complete(data) else ""
        if text:
            screen.write(text, time.monotonic() - start)
            if QUESTION in text:
                os.write(terminal, b"y\n")
            data = b""
    _, status = os.waitpid(pid, 0)
    if status:
        raise SystemExit(f"`{' '.join(command)}` failed")
    return screen


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux reports the end of a terminal as an error
        return b""


def _is_complete(data: bytes) -> bool:
    """Return whether the data ends with a whole character."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.end < len(data)
    return True


def render(screen: Screen, prompt: str) -> str:
    """Render a recording as an SVG whose lines appear one after another and then start over."""
    lines = [Line([(character, Style(COLORS[2], bold=True)) for character in f"$ {prompt}"]), *screen.lines]
    while not lines[-1].text.strip():
        lines.pop()
    times = list(_paced(lines))
    total = times[-1] + HOLD_SEC
    width, height = COLUMNS * CELL_WIDTH + 2 * MARGIN, BAR + len(lines) * LINE_HEIGHT + MARGIN
    rows = "".join(_row(index, line) for index, line in enumerate(lines))
    dots = "".join(f'<circle cx="{20 + 18 * n}" cy="17" r="5.5" fill="{COLORS[n + 1]}"/>' for n in range(3))
    frames = "".join(_appearance(index, at, total) for index, at in enumerate(times) if at)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(prompt)}"><style>text{{font:14px {FONT};white-space:pre;fill:{FOREGROUND}}}'
        f"@media (prefers-reduced-motion:no-preference){{{frames}}}</style>"
        f'<rect width="100%" height="100%" rx="9" fill="{BACKGROUND}"/>{dots}{rows}</svg>\n'
    )


def _appearance(index: int, at: float, total: float) -> str:
    """Return the animation of a line that is invisible until a time."""
    hidden, shown = f"{100 * at / total:.2f}", f"{100 * at / total + 0.01:.2f}"
    return (
        f"@keyframes l{index}{{0%,{hidden}%{{opacity:0}}{shown}%,100%{{opacity:1}}}}"
        f"#l{index}{{animation:l{index} {total:.1f}s infinite}}"
    )


def _paced(lines: list[Line]) -> Iterator[float]:
    at = printed_at = 0.0
    for index, line in enumerate(lines):
        pause = line.printed_at - printed_at
        if index and line.text.strip():
            at += min(max(pause, SHORTEST_STEP_SEC), LONGEST_PAUSE_SEC)
            printed_at = line.printed_at
        yield at


def _row(index: int, line: Line) -> str:
    if not line.text.strip():
        return ""
    pieces: list[tuple[str, Style]] = []
    for character, style in line.cells:
        if pieces and pieces[-1][1] == style:
            pieces[-1] = (pieces[-1][0] + character, style)
        else:
            pieces.append((character, style))
    spans = "".join(_span(text, style) for text, style in pieces).rstrip()
    return f'<text id="l{index}" x="{MARGIN}" y="{BAR + (index + 0.75) * LINE_HEIGHT:.0f}">{spans}</text>'


def _span(text: str, style: Style) -> str:
    attributes = f' fill="{style.color}"' if style.color != FOREGROUND else ""
    attributes += ' font-weight="bold"' if style.bold else ""
    return f"<tspan{attributes}>{escape(text)}</tspan>" if attributes else escape(text)


def main(arguments: list[str]) -> None:
    """Write the recording of a command to the file that is named first."""
    target, *command = arguments
    Path(target).write_text(render(record(command), " ".join(command)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
