"""One simple command under assessment: its words, its context, and where findings are recorded."""

from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from skills_runtime.safety.guard.facts import Findings, Level, Span
from skills_runtime.safety.guard.paths import HARMLESS_SINKS, Assessment, assess_write, normalize
from skills_runtime.safety.guard.syntax import Script
from skills_runtime.safety.guard.words import Word, names

# Redirections to these names open connections.
NETWORK = ("/dev/tcp/", "/dev/udp/")

# Programs for which `-` means standard output; for others it is a file name.
_DASH_IS_OUTPUT = names("curl wget iconv uniq xxd gpg openssl")


def record_write(findings: Findings, target: Word, part: str, span: Span | None) -> None:
    """Record a file that is written: by a redirection, an option or an operand."""
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
    """Record the host in a path that stands for a connection."""
    if path.count("/") > 3:
        findings.hosts[path.split("/")[3]] = None


class StandardInput(msgspec.Struct, frozen=True):
    """What a command gets on its standard input, unless that is the terminal."""

    text: str | None = None
    """The whole input, if known."""
    programs: tuple[str | None, ...] = ()
    """The programs that write it; None for an unknown one."""
    byte_range: tuple[int, int] = (0, 0)


class CommandContext(msgspec.Struct, frozen=True):
    """The surroundings of a command."""

    depth: int = 0
    """Number of wrappers around it."""
    stdin: Callable[[], StandardInput] | None = None
    """Returns its input; None if it has none."""
    output_used: bool = False
    """Whether another command uses its output."""
    in_test: bool = False
    """Whether it is part of a test, which does not open the files it names."""
    unseen_arguments: bool = False
    """Whether unseen arguments are added to it, as by `xargs`."""

    def nested(self) -> "CommandContext":
        """Return the context inside one more wrapper."""
        return msgspec.structs.replace(self, depth=self.depth + 1)


class CommandReader(Protocol):
    """Analyzes what a command contains: the command it wraps, or code for a shell."""

    @property
    def findings(self) -> Findings:
        """The collector of all findings."""
        ...

    def is_known_program(self, name: str) -> bool:
        """Return whether a table or an assessor covers a program."""
        ...

    def read_command(self, script: Script, words: list[Word], context: CommandContext) -> None:
        """Assess one simple command."""
        ...

    def read_code(self, script: Script, text: str, byte_range: tuple[int, int], context: CommandContext) -> None:
        """Analyze a text as shell code."""
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
        """The name of the program, without its directory."""

    def add_risk(self, level: Level, reason: str, word: Word | None = None) -> None:
        """Record a risk, caused by one word or by the whole command."""
        start, end = self._byte_range(word)
        self.reader.findings.add_risk(level, reason, self.script.text_at(start, end), self.script.span(start, end))

    def add_assessment(self, assessment: Assessment | None, word: Word | None = None) -> None:
        """Record the risk of an assessment, if there is one."""
        if assessment is not None:
            self.add_risk(assessment[0], assessment[1], word)

    def add_write(self, word: Word) -> None:
        """Record a file that an option or an operand makes this program write."""
        if word.shape != "-" or self.name not in _DASH_IS_OUTPUT:
            start, end = self._byte_range(word)
            record_write(self.reader.findings, word, self.script.text_at(start, end), self.script.span(start, end))

    def mark_unclear(self, reason: str, word: Word | None = None, level: Level = "medium") -> None:
        """Record that something is not understood."""
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
        """Analyze a word as shell code."""
        if word.value is None:
            self.mark_unclear("runs code that is only known when it runs", word, "high")
        else:
            self.reader.read_code(self.script, word.value, (word.start, word.end), (context or self.context).nested())

    def read_joined(self, words: list[Word], context: CommandContext | None = None) -> None:
        """Analyze several words, joined with spaces, as shell code."""
        if any(word.value is None for word in words):
            self.mark_unclear("runs code that is only known when it runs", None, "high")
        elif words:
            text, byte_range = " ".join(word.value or "" for word in words), (words[0].start, words[-1].end)
            self.reader.read_code(self.script, text, byte_range, (context or self.context).nested())

    def has_short(self, letters: str) -> bool:
        """Return whether one of these short options is given, alone or in a cluster."""
        return any(
            word.shape[:1] == "-" and word.shape[1:2] != "-" and any(letter in word.shape for letter in letters)
            for word in self.args
        )

    def long_values(self, name: str) -> Iterator[Word]:
        """Return the values of a long option, including abbreviations; for `--name` alone, the next word."""
        return (value for _, value in self.long_options(name))

    def long_options(self, name: str) -> Iterator[tuple[str, Word]]:
        """Yield the same values, each with the option as written."""
        for index, word in enumerate(self.args):
            option = word.option
            if len(option) > 2 and option.startswith("--") and name.startswith(option[2:]):
                if "=" in word.shape:
                    yield option, word.suffix(len(option) + 1)
                else:
                    yield option, self.args[index + 1] if index + 1 < len(self.args) else word

    def has_long(self, *names: str) -> bool:
        """Return whether one of these long options is given."""
        return any(True for name in names for _ in self.long_values(name))

    def operands(self) -> list[Word]:
        """Return the words that are no options; they may include values of options."""
        return [word for word in self.args if not word.option]
