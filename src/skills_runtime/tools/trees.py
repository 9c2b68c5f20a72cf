"""What is below a directory: in a fixed order, within bounds, and never through a link."""

from collections.abc import Iterator

import msgspec

from skills_runtime.errors import LogError, SkillsRuntimeError
from skills_runtime.ports import DirectoryListing, FileKind, Files
from skills_runtime.tools.ignore import IgnoreRules

MAX_DIRECTORIES = 2000
MAX_ENTRIES = 20_000

_CONTROLS = {number: f"\\x{number:02x}" for number in (*range(0x20), 0x7F)}


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One entry below the directory a walk began in, and how to name it from there and to a file operation."""

    relative: str
    path: str
    kind: FileKind
    depth: int


class Walk:
    """A walk and what it left out; the numbers are right once it has ended."""

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
        """Take in the rules above a relative path, unless they would leave it out: whoever names it wants it."""
        if self._ignore is None or top == "." or top.startswith("/"):
            return
        above = "."
        for name in top.split("/"):
            self._ignore.enter(above, self._files.list(above))
            above = join(above, name)
            if self._ignore.covers(above, "directory"):
                self._ignore.forget()
                return

    def below(self, top: str) -> Iterator[Found]:
        """Everything below `top`, each directory directly before what is in it."""
        stack = [self._inside("", top, 1, self._files.list(top))]
        while stack:
            found = next(stack[-1], None)
            if found is None:
                stack.pop()
                continue
            if self._entries >= MAX_ENTRIES:
                self.complete = False
                return
            self._entries += 1
            yield found
            if found.kind == "directory" and (self._depth is None or found.depth < self._depth):
                stack.append(self._enter(found))

    def _enter(self, found: Found) -> Iterator[Found]:
        if self._directories >= MAX_DIRECTORIES:
            self.complete = False
            return
        self._directories += 1
        try:
            listing = self._files.list(found.path)
        except LogError:
            raise
        except SkillsRuntimeError:
            self.refused += 1
            return
        yield from self._inside(found.relative, found.path, found.depth + 1, listing)

    def _inside(self, relative: str, path: str, depth: int, listing: DirectoryListing) -> Iterator[Found]:
        self.complete = self.complete and listing.complete
        if self._ignore is not None:
            self._ignore.enter(path, listing)
        for entry in listing.entries:
            inner = join(path, entry.name)
            if entry.name.startswith("."):
                self.hidden += 1
            elif self._ignore is not None and self._ignore.covers(inner, entry.kind):
                self.ignored += 1
            else:
                yield Found(relative=join(relative, entry.name), path=inner, kind=entry.kind, depth=depth)


def join(directory: str, name: str) -> str:
    """The path of a name in a directory; the empty directory and `.` are where paths begin."""
    return name if directory in ("", ".") else f"{directory.rstrip('/')}/{name}"


def shown(path: str) -> str:
    """The path on one line, whatever is in it."""
    return path.translate(_CONTROLS)


def plain(path: str) -> str:
    """The path without empty and `.` segments; the place where paths begin is `.`, and an empty path stays one."""
    parts = "/".join(part for part in path.split("/") if part not in ("", "."))
    return f"/{parts}" if path.startswith("/") else parts or path[:1]
