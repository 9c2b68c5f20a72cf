"""Search files: line patterns, `.gitignore` rules, directory walks and a ripgrep prefilter.

RE2 never backtracks, but its time grows with the size of the pattern. So the text is searched in pieces that take a
fraction of a second each.
"""

import asyncio
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, cast

import msgspec

from skills_runtime.errors import LogError, SkillsRuntimeError, ToolError
from skills_runtime.ports import DirectoryListing, FileKind, Files, ToolContext
from skills_runtime.processes import Limits, execute_plan
from skills_runtime.runs.files import RunFiles, parse_path
from skills_runtime.tools.processes import CommandNetwork, CommandSpec, plan_command

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_PROGRAM = 10_000
MAX_WORK = 20_000_000
MIN_PIECE = 4096


class Hit(msgspec.Struct, frozen=True):
    """A matching line and its number."""

    line: int
    text: bytes


class Piece(msgspec.Struct, frozen=True):
    """Complete lines of a text, or the start of a line that is too long, and the number of the first."""

    line: int
    data: bytes
    is_cut: bool = False


class _Match(Protocol):
    def start(self) -> int: ...


class _Expression(Protocol):
    programsize: int
    reverseprogramsize: int

    def search(self, text: bytes, pos: int = 0) -> _Match | None: ...


class Pattern:
    """A pattern in RE2's syntax; it never matches across lines."""

    def __init__(self, text: str) -> None:
        self._expression = _compile(text)
        size = self._expression.programsize + self._expression.reverseprogramsize
        if size > MAX_PROGRAM:
            raise ToolError("validation", "the pattern is too large", hint="use fewer repetitions")
        self._piece_bytes = max(MAX_WORK // max(size, 1), MIN_PIECE)

    def pieces(self, text: bytes) -> Iterator[Piece]:
        """Split the text into pieces that one search can handle in time."""
        offset, line = 0, 1
        while offset < len(text):
            limit = offset + self._piece_bytes
            end = len(text) if limit >= len(text) else text.rfind(b"\n", offset, limit) + 1
            is_cut = end <= offset
            data = text[offset : limit if is_cut else end]
            yield Piece(line, data, is_cut)
            if is_cut:
                end = text.find(b"\n", limit) + 1 or len(text)
                line += 1
            else:
                line += data.count(b"\n")
            offset = end

    def hits(self, piece: Piece) -> Iterator[Hit]:
        """Yield the matching lines, each once."""
        data, line = piece.data, piece.line
        offset = counted = 0
        while offset < len(data) and (match := self._expression.search(data, offset)):
            begin = data.rfind(b"\n", 0, match.start()) + 1
            if begin == len(data):
                return  # behind the last line
            end = data.find(b"\n", match.start())
            end = len(data) if end < 0 else end
            line += data.count(b"\n", counted, begin)
            yield Hit(line, data[begin:end])
            counted, offset = begin, end + 1


def _compile(text: str) -> _Expression:
    import re2

    engine = cast("Any", re2)
    options = engine.Options()
    options.never_nl = options.never_capture = True
    options.log_errors = False
    try:
        return engine.compile(f"(?m){text}", options)
    except engine.error as error:
        reason = error.args[0].decode(errors="replace") if error.args else "it cannot be read"
        raise ToolError(
            "validation",
            f"the pattern is not a regular expression: {reason}",
            hint="use RE2 syntax, which has no look-around and no back-references; put \\ before special characters",
        ) from error


RULES_FILE = ".gitignore"
MAX_RULES_BYTES = 256 * 1024
MAX_RULES = 2000
MAX_PATTERN_CHARS = 500
MAX_ALTERNATIVES = 64

_BRACES = re.compile(r"\{([^{}]*)\}")


class IgnoreRules:
    """Ignore rules of the directories entered so far; the nearest directory with a matching rule decides."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._rules: dict[str, GitIgnoreSpec] = {}

    def enter(self, directory: str, listing: DirectoryListing) -> None:
        """Read the rules of a directory, if it has any."""
        if any(entry.name == RULES_FILE and entry.kind == "file" for entry in listing.entries):
            path = RULES_FILE if directory == "." else f"{directory}/{RULES_FILE}"
            try:
                data = self._files.read(path, limit=MAX_RULES_BYTES)
            except LogError:
                raise
            except SkillsRuntimeError:
                return
            self._rules[directory] = _compile_rules(_normalize_rules(data.decode(errors="replace").split("\n")))

    def forget(self) -> None:
        """Drop all rules."""
        self._rules.clear()

    def covers(self, path: str, kind: FileKind) -> bool:
        """Return whether the rules ignore an entry, given that they ignore none of its parents."""
        spelled = f"{path}/" if kind == "directory" else path
        for directory in _ancestors(path):
            rules = self._rules.get(directory)
            relative = spelled if directory == "." else spelled[len(directory) + 1 :]
            is_included = rules.check_file(relative).include if rules is not None else None
            if is_included is not None:
                return is_included
        return False


class NamePattern:
    """A pattern for paths such as `*.py`, `src/**/*.{js,ts}` or, for all others, `!*.md`."""

    def __init__(self, pattern: str) -> None:
        self._negated = pattern.startswith("!")
        self._rules = _compile_rules(_alternatives(pattern.removeprefix("!")))
        self.is_empty = len(self._rules) == 0

    def matches(self, path: str) -> bool:
        """Return whether the path matches."""
        return self._rules.match_file(path) is not self._negated


def _ancestors(path: str) -> Iterator[str]:
    """Yield the parent directories of a path, nearest first."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path or "/"
    yield "."


def _normalize_rules(lines: Iterable[str]) -> Iterator[str]:
    """Rewrite `directory/**` to `directory/*`: pathspec would ignore the directory itself, too."""
    for line in lines:
        rule = line.removesuffix("\r")
        bare = rule.rstrip().removesuffix("/")
        yield f"{bare}/*{'/' * rule.rstrip().endswith('/')}" if bare.endswith("/**") else rule


def _compile_rules(lines: Iterable[str]) -> "GitIgnoreSpec":
    """Compile the valid rules and skip the others, as git does."""
    from pathspec import GitIgnoreSpec

    rules = (line for line in lines if line.strip() and not line.startswith("#") and len(line) <= MAX_PATTERN_CHARS)
    usable = [line for line in islice(rules, MAX_RULES) if _is_usable(line)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return GitIgnoreSpec.from_lines(usable, backend="re2")


def _is_usable(line: str) -> bool:
    import re2
    from pathspec import GitIgnoreSpec

    engine = cast("Any", re2)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            GitIgnoreSpec.from_lines([line], backend="re2")
    except (ValueError, re.error, engine.error):
        return False
    return True


def _alternatives(pattern: str) -> list[str]:
    """Expand each `{a,b}` of the pattern, innermost first."""
    pending, expanded = [pattern], list[str]()
    while pending and len(pending) + len(expanded) <= MAX_ALTERNATIVES:
        candidate = pending.pop()
        braces = _BRACES.search(candidate)
        if braces is None:
            expanded.append(candidate)
        else:
            pending += [
                candidate[: braces.start()] + alternative + candidate[braces.end() :]
                for alternative in braces[1].split(",")
            ]
    return expanded


MAX_DIRECTORIES = 2000
MAX_ENTRIES = 20_000


class WalkEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a walk, with its path relative to the start and its path for file operations."""

    relative: str
    path: str
    kind: FileKind
    depth: int


class Walk:
    """A directory walk that counts what it leaves out; the counts are final when it has ended."""

    def __init__(self, files: Files, *, depth: int | None = None, ignore: IgnoreRules | None = None) -> None:
        self.hidden = 0
        self.ignored = 0
        self.refused = 0
        self.complete = True
        self._files = files
        self._depth = depth
        self._ignore = ignore
        self._directories = 1
        self._entries = 0

    def prepare(self, top: str) -> None:
        """Read the rules of the directories above `top`, unless they ignore `top`, which was named on purpose."""
        if self._ignore is None or top == "." or top.startswith("/"):
            return
        directory = "."
        for name in top.split("/"):
            self._ignore.enter(directory, self._files.list(directory))
            directory = join_path(directory, name)
            if self._ignore.covers(directory, "directory"):
                self._ignore.forget()
                return

    def entries(self, top: str) -> Iterator[WalkEntry]:
        """Yield all entries below `top`, each directory right before its content."""
        stack = [self._list_entries("", top, 1, self._files.list(top))]
        while stack:
            entry = next(stack[-1], None)
            if entry is None:
                stack.pop()
                continue
            if self._entries >= MAX_ENTRIES:
                self.complete = False
                return
            self._entries += 1
            yield entry
            if entry.kind == "directory" and (self._depth is None or entry.depth < self._depth):
                stack.append(self._enter(entry))

    def _enter(self, directory: WalkEntry) -> Iterator[WalkEntry]:
        if self._directories >= MAX_DIRECTORIES:
            self.complete = False
            return
        self._directories += 1
        try:
            listing = self._files.list(directory.path)
        except LogError:
            raise
        except SkillsRuntimeError:
            self.refused += 1
            return
        yield from self._list_entries(directory.relative, directory.path, directory.depth + 1, listing)

    def _list_entries(self, relative: str, path: str, depth: int, listing: DirectoryListing) -> Iterator[WalkEntry]:
        self.complete = self.complete and listing.complete
        if self._ignore is not None:
            self._ignore.enter(path, listing)
        for entry in listing.entries:
            inner = join_path(path, entry.name)
            if entry.name.startswith("."):
                self.hidden += 1
            elif self._ignore is not None and self._ignore.covers(inner, entry.kind):
                self.ignored += 1
            else:
                yield WalkEntry(relative=join_path(relative, entry.name), path=inner, kind=entry.kind, depth=depth)


def join_path(directory: str, name: str) -> str:
    """Join a directory and a name; `.` and the empty directory are the root of relative paths."""
    return name if directory in ("", ".") else f"{directory.rstrip('/')}/{name}"


def normalize_path(path: str) -> str:
    """Remove empty and `.` segments; the root becomes `.`, and an empty path stays empty."""
    parts = "/".join(part for part in path.split("/") if part not in ("", "."))
    return f"/{parts}" if path.startswith("/") else parts or path[:1]


# Paths that only an administrator can write: a program from the project must not run for a read-only tool.
RIPGREP_PATHS = ("/usr/local/bin/rg", "/usr/bin/rg", "/opt/homebrew/bin/rg")
MAX_ARGUMENT_BYTES = 512 * 1024
"""Limit for the names passed to one process."""
OUTPUT_BYTES = 2 << 20
GRACE_SECONDS = 0.2
NO_MATCH_EXIT_CODE = 1

_OPTIONS = (
    "--no-config", "--no-ignore", "--no-messages", "--color=never", "--engine=default", "--encoding=none", "--text",
    "--no-mmap", "--files-with-matches", "--null",
)  # fmt: skip
_ANYTHING = r"(?:[^\n]{1,4})"
"""One character is one to four bytes in UTF-8."""
_TOKEN = re.compile(
    r"""
    (?P<group> \( (?: \?: | (?!\?) ) )
  | (?P<syntax> [|)] | [*+?] \?? | \{ \d+ (?: ,\d* )? \} \?? )
  | (?P<edge> [\^$] | \\ [bBAz] )
  | (?P<kind> \. | \\ [wdsWDS] | \[ \^? (?: \\ [^xpPQE\d] | [^\\\[\]] )+ \] )
  | \\ (?P<escaped> [.*+?()\[\]{}|^$\\/-] )
  | (?P<plain> [^\\.*+?()\[\]{}|^$\n] )
    """,
    re.VERBOSE,
)
_FOLDED = re.compile(r"\(\?i\)")


class Prefiltered(msgspec.Struct, frozen=True):
    """The files that may match, and the sandbox evidence of ripgrep."""

    paths: frozenset[str]
    evidence: Mapping[str, Any]


def weaken_pattern(pattern: str) -> str | None:
    """Return a byte pattern for ripgrep that matches at least wherever ours does, or None."""
    folded = _FOLDED.match(pattern)
    offset, parts = folded.end() if folded else 0, list[str]()
    while offset < len(pattern):
        token = _TOKEN.match(pattern, offset)
        if token is None:
            return None
        parts.append(_weaken_token(token, folded=folded is not None))
        offset = token.end()
    return f"(?-u){''.join(parts)}"


async def prefilter(paths: Sequence[str], pattern: str, context: ToolContext, *, seconds: float) -> Prefiltered | None:
    """Return the files that may match, or None if ripgrep cannot tell."""
    files, weak = context.files, weaken_pattern(pattern)
    program = next((candidate for candidate in RIPGREP_PATHS if os.access(candidate, os.X_OK)), None)
    if program is None or weak is None or not isinstance(files, RunFiles):
        return None
    real: dict[bytes, str] = {}
    for path in paths:
        location = parse_path(files.policy, path)
        real[os.fsencode(files.policy.root(location.mount).joinpath(*location.parts))] = path
    passed, evidence = set[str](), dict[str, Any]()
    now = asyncio.get_running_loop().time
    deadline = now() + seconds
    for names in _split_batches(list(real)):
        argv = (program, *_OPTIONS, "-e", weak, "--", *map(os.fsdecode, names))
        try:
            plan = plan_command(CommandSpec(argv=argv), context)
            remaining = max(0.0, deadline - now())
            limits = Limits(wall_seconds=remaining, output_bytes=OUTPUT_BYTES, grace_seconds=GRACE_SECONDS)
            finished = await execute_plan(plan, limits, CommandNetwork(context).egress_callbacks)
        except LogError:
            raise
        except SkillsRuntimeError:
            return None
        if finished.ended_by != "exit" or finished.exit_code not in (0, NO_MATCH_EXIT_CODE) or finished.stdout.left_out:
            return None
        matches = (finished.stdout.head + finished.stdout.tail).split(b"\0")[:-1]
        passed.update(real[name] for name in matches if name in real)
        evidence = dict(plan.evidence)
    return Prefiltered(frozenset(passed), evidence)


def _weaken_token(token: "re.Match[str]", *, folded: bool) -> str:
    match token.lastgroup:
        case "group":
            return "(?:"
        case "syntax":
            return token[0]
        case "edge":
            return "(?:)"
        case "kind":
            return _ANYTHING
        case _:
            character = token["escaped"] or token["plain"]
            if folded and not (character.isascii() and character not in "kKsS"):
                return _ANYTHING  # these have case variants outside ASCII
            if folded and character.isalpha():
                return f"[{character.lower()}{character.upper()}]"
            exact = "".join(f"\\x{byte:02x}" for byte in character.encode())
            return f"(?:{exact})"


def _split_batches(names: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Split the names into batches that fit on a command line."""
    batch, size = list[bytes](), 0
    for name in names:
        if batch and size + len(name) > MAX_ARGUMENT_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(name)
        size += len(name) + 1
    if batch:
        yield batch
