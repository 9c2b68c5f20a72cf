"""One simple command while it is assessed: its words, its context, and where findings are recorded."""

from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from skills_runtime.safety.guard.facts import Findings, Level, Span
from skills_runtime.safety.guard.paths import HARMLESS_SINKS, Assessment, assess_write, normalize
from skills_runtime.safety.guard.syntax import Script
from skills_runtime.safety.guard.words import Word, names

NETWORK = ("/dev/tcp/", "/dev/udp/")
"""Where a shell connects when a redirection names a file there."""

_DASH_IS_OUTPUT = names("curl wget iconv uniq xxd gpg openssl")
"""Programs to which `-` is the standard output; to others it is the name of a file."""


def record_write(findings: Findings, target: Word, part: str, span: Span | None) -> None:
    """Take note of a file that is written: by a redirection, or by what an option or an operand names."""
    path = normalize(target.shape)
    if target.is_process or (target.value is not None and (path in HARMLESS_SINKS or path.startswith("/dev/fd/"))):
        return
    findings.writes.append(target.value)
    if target.value is None:
        findings.mark_unclear("writes a file whose name is only known when it runs", part, span)
    if path.startswith(NETWORK):
        record_path_host(findings, path)
    findings.add_risk(*assess_write(target.shape), part, span)


def record_path_host(findings: Findings, path: str) -> None:
    """Take note of the host in a path that stands for a connection."""
    if path.count("/") > 3:
        findings.hosts[path.split("/")[3]] = None


class StandardInput(msgspec.Struct, frozen=True):
    """What a command gets on its standard input, when that is not the terminal."""

    text: str | None = None
    """All of it, when it is known."""
    programs: tuple[str | None, ...] = ()
    """Who wrote it; one whose name is not known is nothing."""
    byte_range: tuple[int, int] = (0, 0)


class CommandContext(msgspec.Struct, frozen=True):
    """What surrounds a command."""

    depth: int = 0
    """How many wrappers stand around it."""
    stdin: Callable[[], StandardInput] | None = None
    """Asks for what it is fed, when it is fed at all."""
    output_used: bool = False
    """Whether its output is used by another command."""
    in_test: bool = False
    """Whether it stands inside of a test, which does not open the files it names."""
    unseen_arguments: bool = False
    """Whether unseen arguments are added to it, as by `xargs`."""

    def nested(self) -> "CommandContext":
        """Return the context inside one more wrapper."""
        return msgspec.structs.replace(self, depth=self.depth + 1)


class CommandReader(Protocol):
    """Reads what a command holds: the command it wraps, or code for a shell."""

    @property
    def findings(self) -> Findings:
        """Return the collector of all findings."""
        ...

    def is_known_program(self, name: str) -> bool:
        """Return whether a table or an assessor covers a program."""
        ...

    def read_command(self, script: Script, words: list[Word], context: CommandContext) -> None:
        """Assess one simple command."""
        ...

    def read_code(self, script: Script, text: str, byte_range: tuple[int, int], context: CommandContext) -> None:
        """Read a text as shell."""
        ...


class Call:
    """A simple command under assessment."""

    __slots__ = ("args", "context", "name", "reader", "script", "words")

    def __init__(
        self, reader: CommandReader, script: Script, words: list[Word], context: CommandContext, name: str
    ) -> None:
        self.reader = reader
        self.script = script
        self.words = words
        self.args = words[1:]
        self.context = context
        self.name = name
        """What the program is called, without the directory it is kept in."""

    def add_risk(self, level: Level, reason: str, word: Word | None = None) -> None:
        """Take a risk into account, caused by one word or by the whole command."""
        start, end = self._byte_range(word)
        self.reader.findings.add_risk(level, reason, self.script.text_at(start, end), self.script.span(start, end))

    def add_assessment(self, assessment: Assessment | None, word: Word | None = None) -> None:
        """Add the risk of an assessment, if there is one."""
        if assessment is not None:
            self.add_risk(assessment[0], assessment[1], word)

    def add_write(self, word: Word) -> None:
        """Take note of a file that an option or an operand has this program write."""
        if word.shape != "-" or self.name not in _DASH_IS_OUTPUT:
            start, end = self._byte_range(word)
            record_write(self.reader.findings, word, self.script.text_at(start, end), self.script.span(start, end))

    def mark_unclear(self, reason: str, word: Word | None = None, level: Level = "medium") -> None:
        """Say that something is not understood."""
        start, end = self._byte_range(word)
        text, span = self.script.text_at(start, end), self.script.span(start, end)
        self.reader.findings.mark_unclear(reason, text, span)
        self.reader.findings.add_risk(level, reason, text, span)

    def _byte_range(self, word: Word | None) -> tuple[int, int]:
        if word is not None:
            return word.start, word.end
        return self.words[0].start, max(part.end for part in self.words)

    def read_wrapped(self, words: list[Word], context: CommandContext | None = None) -> None:
        """Assess the command that this one wraps."""
        if words:
            self.reader.read_command(self.script, words, (context or self.context).nested())

    def read_code(self, word: Word, context: CommandContext | None = None) -> None:
        """Read a word as code for a shell."""
        if word.value is None:
            self.mark_unclear("runs code that is only known when it runs", word, "high")
        else:
            self.reader.read_code(self.script, word.value, (word.start, word.end), (context or self.context).nested())

    def read_joined(self, words: list[Word], context: CommandContext | None = None) -> None:
        """Read several words, put together with spaces, as code for a shell."""
        if any(word.value is None for word in words):
            self.mark_unclear("runs code that is only known when it runs", None, "high")
        elif words:
            text, byte_range = " ".join(word.value or "" for word in words), (words[0].start, words[-1].end)
            self.reader.read_code(self.script, text, byte_range, (context or self.context).nested())

    def has_short(self, letters: str) -> bool:
        """Return whether one of these short options is option, alone or in a cluster."""
        return any(
            word.shape[:1] == "-" and word.shape[1:2] != "-" and any(letter in word.shape for letter in letters)
            for word in self.args
        )

    def long_values(self, name: str) -> Iterator[Word]:
        """Return the values of a long option, also when its name is cut short; of `--name` alone the next word."""
        return (value for _, value in self.long_options(name))

    def long_options(self, name: str) -> Iterator[tuple[str, Word]]:
        """Yield the same values, each with the option as it is written."""
        for index, word in enumerate(self.args):
            option = word.option
            if len(option) > 2 and option.startswith("--") and name.startswith(option[2:]):
                if "=" in word.shape:
                    yield option, word.suffix(len(option) + 1)
                else:
                    yield option, self.args[index + 1] if index + 1 < len(self.args) else word

    def has_long(self, *names: str) -> bool:
        """Return whether one of these long options is option."""
        return any(True for name in names for _ in self.long_values(name))

    def operands(self) -> list[Word]:
        """Return the words that are no options; values of options may be among them."""
        return [word for word in self.args if not word.option]
