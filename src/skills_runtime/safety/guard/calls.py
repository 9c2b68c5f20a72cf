"""One simple command while it is judged: its words, what surrounds it, and where findings go."""

from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from skills_runtime.safety.guard.facts import Findings, Level, Span
from skills_runtime.safety.guard.paths import HARMLESS_SINKS, Judgement, normal, writing
from skills_runtime.safety.guard.syntax import Script
from skills_runtime.safety.guard.words import Word, names

NETWORK = ("/dev/tcp/", "/dev/udp/")
"""Where a shell connects when a redirection names a file there."""

_DASH_IS_OUTPUT = names("curl wget iconv uniq xxd gpg openssl")
"""Programs to which `-` is the standard output; to others it is the name of a file."""


def note_write(found: Findings, target: Word, part: str, span: Span | None) -> None:
    """Take note of a file that is written: by a redirection, or by what an option or an operand names."""
    path = normal(target.shape)
    if target.process or (target.value is not None and (path in HARMLESS_SINKS or path.startswith("/dev/fd/"))):
        return
    found.writes.append(target.value)
    if target.value is None:
        found.puzzle("writes a file whose name is only known when it runs", part, span)
    if path.startswith(NETWORK):
        note_host(found, path)
    found.worsen(*writing(target.shape), part, span)


def note_host(found: Findings, path: str) -> None:
    """Take note of the host in a path that stands for a connection."""
    if path.count("/") > 3:
        found.hosts[path.split("/")[3]] = None


class Feed(msgspec.Struct, frozen=True):
    """What a command gets on its standard input, when that is not the terminal."""

    text: str | None = None
    """All of it, when it is known."""
    programs: tuple[str | None, ...] = ()
    """Who wrote it; one whose name is not known is nothing."""
    place: tuple[int, int] = (0, 0)


class CommandContext(msgspec.Struct, frozen=True):
    """What surrounds a command."""

    depth: int = 0
    """How many wrappers stand around it."""
    feed: Callable[[], Feed] | None = None
    """Asks for what it is fed, when it is fed at all."""
    heard: bool = False
    """Whether its output is used by another command."""
    tested: bool = False
    """Whether it stands inside of a test, which does not open the files it names."""
    listed: bool = False
    """Whether arguments are added to it that nobody has seen, as by `xargs`."""

    def deeper(self) -> "CommandContext":
        """Inside of one more wrapper."""
        return msgspec.structs.replace(self, depth=self.depth + 1)


class Opener(Protocol):
    """Reads what a command holds: the command it wraps, or code for a shell."""

    @property
    def found(self) -> Findings:
        """Where everything is collected."""
        ...

    def knows(self, name: str) -> bool:
        """Tell whether anything is known of a program."""
        ...

    def command(self, script: Script, words: list[Word], scene: CommandContext) -> None:
        """Judge one simple command."""
        ...

    def code(self, script: Script, text: str, place: tuple[int, int], scene: CommandContext) -> None:
        """Read a text as shell."""
        ...


class Call:
    """A simple command under judgement."""

    __slots__ = ("args", "name", "opener", "scene", "script", "words")

    def __init__(self, opener: Opener, script: Script, words: list[Word], scene: CommandContext, name: str) -> None:
        self.opener = opener
        self.script = script
        self.words = words
        self.args = words[1:]
        self.scene = scene
        self.name = name
        """What the program is called, without the directory it is kept in."""

    def worsen(self, level: Level, reason: str, word: Word | None = None) -> None:
        """Take a risk into account, caused by one word or by the whole command."""
        start, end = self._place(word)
        self.opener.found.worsen(level, reason, self.script.written(start, end), self.script.span(start, end))

    def judged(self, judgement: Judgement | None, word: Word | None = None) -> None:
        """Take a judgement into account, if there is one."""
        if judgement is not None:
            self.worsen(judgement[0], judgement[1], word)

    def write(self, word: Word) -> None:
        """Take note of a file that an option or an operand has this program write."""
        if word.shape != "-" or self.name not in _DASH_IS_OUTPUT:
            start, end = self._place(word)
            note_write(self.opener.found, word, self.script.written(start, end), self.script.span(start, end))

    def puzzle(self, reason: str, word: Word | None = None, level: Level = "medium") -> None:
        """Say that something is not understood."""
        start, end = self._place(word)
        written, span = self.script.written(start, end), self.script.span(start, end)
        self.opener.found.puzzle(reason, written, span)
        self.opener.found.worsen(level, reason, written, span)

    def _place(self, word: Word | None) -> tuple[int, int]:
        if word is not None:
            return word.start, word.end
        return self.words[0].start, max(part.end for part in self.words)

    def run(self, words: list[Word], scene: CommandContext | None = None) -> None:
        """Judge the command that this one wraps."""
        if words:
            self.opener.command(self.script, words, (scene or self.scene).deeper())

    def code(self, word: Word, scene: CommandContext | None = None) -> None:
        """Read a word as code for a shell."""
        if word.value is None:
            self.puzzle("runs code that is only known when it runs", word, "high")
        else:
            self.opener.code(self.script, word.value, (word.start, word.end), (scene or self.scene).deeper())

    def joined(self, words: list[Word], scene: CommandContext | None = None) -> None:
        """Read several words, put together with spaces, as code for a shell."""
        if any(word.value is None for word in words):
            self.puzzle("runs code that is only known when it runs", None, "high")
        elif words:
            text, place = " ".join(word.value or "" for word in words), (words[0].start, words[-1].end)
            self.opener.code(self.script, text, place, (scene or self.scene).deeper())

    def short(self, letters: str) -> bool:
        """Whether one of these short options is given, alone or in a cluster."""
        return any(
            word.shape[:1] == "-" and word.shape[1:2] != "-" and any(letter in word.shape for letter in letters)
            for word in self.args
        )

    def long(self, name: str) -> Iterator[Word]:
        """The values of a long option, also when its name is cut short; of `--name` alone the next word."""
        return (value for _, value in self.long_options(name))

    def long_options(self, name: str) -> Iterator[tuple[str, Word]]:
        """The same, with the option as it is written."""
        for index, word in enumerate(self.args):
            given = word.option
            if len(given) > 2 and given.startswith("--") and name.startswith(given[2:]):
                if "=" in word.shape:
                    yield given, word.after(len(given) + 1)
                else:
                    yield given, self.args[index + 1] if index + 1 < len(self.args) else word

    def has(self, *names: str) -> bool:
        """Whether one of these long options is given."""
        return any(True for name in names for _ in self.long(name))

    def operands(self) -> list[Word]:
        """The words that are no options; values of options may be among them."""
        return [word for word in self.args if not word.option]
