"""grep_files: search files for lines that match a regular expression.

Files are listed, read and searched under the policy of the run, and each read is recorded. For many files, an installed
ripgrep first tells which of them cannot match; those are neither read nor recorded. RE2, like ripgrep's engine, takes
linear time for every pattern.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.errors import LogError, SkillsRuntimeError, ToolError
from skills_runtime.ports import Files, Intent, ToolContext, ToolResult, ToolSpec
from skills_runtime.text import escape_controls
from skills_runtime.tools.arguments import Arguments, build_schema, parse
from skills_runtime.tools.files import build_file_intent
from skills_runtime.tools.search import (
    Hit,
    IgnoreRules,
    NamePattern,
    Pattern,
    Prefiltered,
    Walk,
    normalize_path,
    prefilter,
)

MAX_FILES = 5000
MAX_FILE_BYTES = 4 << 20
MAX_TOTAL_BYTES = 256 << 20
MAX_LINES_PER_FILE = 20
MAX_LINES = 500
MAX_LINE_CHARS = 300
MAX_SECONDS = 10.0
PREFILTER_MIN_FILES = 200
"""From this many files on, starting ripgrep first is faster than reading all of them."""
LOOKUP_BATCH = 64
"""Entries listed before the event loop gets a turn."""


class GrepFilesArguments(Arguments, frozen=True):
    """Arguments of grep_files."""

    pattern: Annotated[
        str, Meta(min_length=1, max_length=10_000, description="A regular expression (RE2), for one line at a time.")
    ]
    path: Annotated[str, Meta(description="A directory or file; the working directory if left out.")] | None = None
    include: (
        Annotated[
            str,
            Meta(
                min_length=1, max_length=500, description="Only files that match, such as `*.py` or `src/**/*.{js,ts}`."
            ),
        ]
        | None
    ) = None
    limit: Annotated[int, Meta(ge=1, le=1000, description="Maximum number of files.")] = 100


class GrepFiles:
    """Searches files."""

    spec = ToolSpec(
        name="grep_files",
        description="Search files for a regular expression. Binary files, hidden files and files ignored by"
        " `.gitignore` are skipped.",
        parameters=build_schema(GrepFilesArguments),
        effect="read",
        hidden_results=("stdout",),
        example={"pattern": "one"},
    )

    def __init__(self, *, max_seconds: float = MAX_SECONDS, prefilter_min_files: int = PREFILTER_MIN_FILES) -> None:
        self._max_seconds = max_seconds
        self._prefilter_min_files = prefilter_min_files

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the directory or file to search."""
        return build_file_intent(context.files, "read", parse(arguments, GrepFilesArguments).path or ".")

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Search the files."""
        args = parse(arguments, GrepFilesArguments)
        search = _Search(context.files, args)
        now = asyncio.get_running_loop().time
        deadline = now() + self._max_seconds

        async def run_steps(steps: Iterator[None]) -> bool:
            for _ in steps:
                await asyncio.sleep(0)  # let other tasks run after every piece
                if now() >= deadline:
                    search.stop(f"the search stopped after {self._max_seconds:g} seconds")
                    return False
            return True

        if await run_steps(search.collect_paths()):
            if len(search.paths) >= self._prefilter_min_files:
                search.apply_prefilter(
                    await prefilter(search.paths, args.pattern, context, seconds=self._max_seconds / 2)
                )
            await run_steps(search.search_files())
        return search.result()


class _Search:
    """State of one search: hits, and everything that was left out."""

    def __init__(self, files: Files, args: GrepFilesArguments) -> None:
        self._files = files
        self._args = args
        self._pattern = Pattern(args.pattern)
        self._include = NamePattern(args.include) if args.include is not None else None
        if self._include is not None and self._include.is_empty:
            raise ToolError("validation", f"`{args.include}` is not a pattern for paths", hint="use one such as `*.py`")
        self._walk = Walk(files, ignore=IgnoreRules(files))
        self.paths: list[str] = []
        self._prefiltered: Prefiltered | None = None
        self._hits: dict[str, list[Hit]] = {}
        self._stop_reason = ""
        self._bytes = self._lines = self._searched = self._read_files = 0
        self._incomplete = Counter[str]()
        self._skipped = Counter[str]()

    def stop(self, reason: str) -> None:
        """Set why the search stops early."""
        self._stop_reason = reason

    def collect_paths(self) -> Iterator[None]:
        """Collect the files to search, yielding now and then."""
        for number, path in enumerate(self._paths()):
            self.paths.append(path)
            if number % LOOKUP_BATCH == 0:
                yield

    def apply_prefilter(self, prefiltered: Prefiltered | None) -> None:
        """Leave out the files that cannot match, if ripgrep could tell."""
        if prefiltered is not None:
            self._prefiltered = prefiltered
            self._searched = len(self.paths) - len(prefiltered.paths)
            self.paths = [path for path in self.paths if path in prefiltered.paths]

    def search_files(self) -> Iterator[None]:
        """Search the files, yielding often enough for the event loop and the deadline."""
        for path in self.paths:
            if len(self._hits) >= self._args.limit:
                self.stop(
                    f"{self._args.limit} files match, and there may be more: raise `limit` or search a subdirectory"
                )
            elif self._read_files >= MAX_FILES or self._bytes >= MAX_TOTAL_BYTES or self._lines >= MAX_LINES:
                self.stop(f"the search stopped after {self._searched} files: search a subdirectory")
            if self._stop_reason:
                return
            yield from self._search_file(path)

    def result(self) -> ToolResult:
        """Build the result: matching lines and notes on what was not searched."""
        skipped = self._skipped + Counter(
            hidden=self._walk.hidden, ignored=self._walk.ignored, refused=self._walk.refused
        )
        notes = [f"{count} {reason}" for reason, count in self._incomplete.items()]
        notes += [self._stop_reason] * bool(self._stop_reason)
        notes += ["there are too many directories to search all of them"] * (not self._walk.complete)
        complete = not notes
        if skipped:
            notes.append(f"not searched: {', '.join(f'{count} {reason}' for reason, count in sorted(skipped.items()))}")
        hits = [(path, hit) for path, hits in self._hits.items() for hit in hits]
        lines: list[str] = []
        for path, hit in hits:
            text = hit.text.decode(errors="replace")
            if len(text) > MAX_LINE_CHARS:
                text = f"{text[:MAX_LINE_CHARS]}… [{len(text) - MAX_LINE_CHARS} more]"
            lines.append(f"{escape_controls(path)}:{hit.line}: {text}")
        lines = lines or ["nothing matches"]
        data: dict[str, Any] = {
            "files": list(self._hits),
            "matches": [{"path": path, "line": hit.line} for path, hit in hits],
            "searched": self._searched,
            "skipped": dict(skipped),
            "complete": complete,
        }
        if self._prefiltered is not None:
            data |= {"sifted_by": "ripgrep", "sandbox": dict(self._prefiltered.evidence)}
        stdout = "\n".join([*lines, *(f"[{note}]" for note in notes)])
        return ToolResult(ok=True, stdout=stdout, truncated=not complete, data=data)

    def _paths(self) -> Iterator[str]:
        top = normalize_path("." if self._args.path is None else self._args.path)
        if self._files.stat(top).kind == "file":
            yield top
            return
        self._walk.prepare(top)
        for entry in self._walk.entries(top):
            if entry.kind == "file" and (self._include is None or self._include.matches(entry.relative)):
                yield entry.path

    def _search_file(self, path: str) -> Iterator[None]:
        data = self._read(path)
        yield
        for piece in self._pattern.pieces(data.replace(b"\r\n", b"\n")):
            if piece.is_cut:
                self._incomplete["lines are too long, so only their start was searched"] += 1
            for hit in self._pattern.hits(piece):
                if not self._add_hit(path, hit):
                    self._incomplete["files have more matching lines than are shown"] += 1
                    return
            yield

    def _read(self, path: str) -> bytes:
        """Read the start of a file; empty if it is refused or binary."""
        try:
            data = self._files.read(path, limit=MAX_FILE_BYTES + 1)
        except LogError:
            raise
        except SkillsRuntimeError:
            self._skipped["refused"] += 1
            return b""
        self._bytes += len(data)
        if b"\0" in data:
            self._skipped["binary"] += 1
            return b""
        self._searched += 1
        self._read_files += 1
        if len(data) > MAX_FILE_BYTES:
            self._incomplete[f"files are larger than {MAX_FILE_BYTES} bytes, so only their start was searched"] += 1
        return data[:MAX_FILE_BYTES]

    def _add_hit(self, path: str, hit: Hit) -> bool:
        """Add a hit; return whether it was within the limits."""
        hits = self._hits.setdefault(path, [])
        if len(hits) >= MAX_LINES_PER_FILE or self._lines >= MAX_LINES:
            return False
        hits.append(hit)
        self._lines += 1
        return True
