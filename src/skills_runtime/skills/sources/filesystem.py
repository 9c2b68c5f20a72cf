"""Skills in directories: every directory below a root with a `SKILL.md` or a `skill.yaml`.

The search is bounded and follows no links. Bodies are read on use, after their path is checked again.
"""

import errno
import hashlib
import os
import stat
import struct
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.skills.problems import Problem, SkillError, failure
from skills_runtime.skills.skill import RunDefinition, Skill
from skills_runtime.skills.sources.source import Origin, Report, ScanOptions
from skills_runtime.skills.standard.diagnostics import Diagnostic
from skills_runtime.skills.standard.directories import (
    FILE_NAME,
    MAX_FILE_BYTES,
    disagreement,
    misnamed,
    pick_skill_file,
)
from skills_runtime.skills.standard.frontmatter import FENCE_BYTES
from skills_runtime.skills.standard.parse import Properties, parse_skill, usable_name
from skills_runtime.skills.standard.skill_yaml import MAX_BYTES as RUN_BYTES
from skills_runtime.skills.standard.skill_yaml import RUN_FILE, parse_required_variables, parse_run
from skills_runtime.skills.standard.specification import invalid
from skills_runtime.storage import OPEN_TO_LIST, error_reason, open_below, open_directory, read_below
from skills_runtime.text import one_line

_NEVER_ENTERED = frozenset({".git", "node_modules", "__pycache__"})
_DEPENDENCIES = ("agents", "openai.yaml")
_DEPENDENCIES_BYTES = 65_536

Parts = tuple[str, ...]
STAMP = struct.Struct("=qqQq")
"""ctime, mtime, inode number and size; an error is stored as its negative errno."""


class ReadSkill(msgspec.Struct, array_like=True, kw_only=True, gc=False):
    """The skill read from a directory; without a name it is not usable."""

    file: str
    """Name of its `SKILL.md` as spelled on disk, or of its `skill.yaml`."""
    name: str = ""
    description: str = ""
    metadata: Mapping[str, Any] = {}
    variables: tuple[str, ...] = ()
    run: RunDefinition | None = None
    content_hash: str = ""
    problems: list[Problem]
    is_complete: bool = True
    """Whether every file could be read; if not, the directory is read again next time."""


class VisitedDirectory(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A directory visited by a search, with stamps taken before its files were read."""

    path: str
    """Path relative to the root of the search; empty for the root itself."""
    entries: int
    """Number of entries."""
    directories: tuple[str, ...] = ()
    """Subdirectories to search; empty below a skill."""
    links: tuple[str, ...] = ()
    """Links, which are not followed."""
    skill: ReadSkill | None = None
    files: tuple[str, ...] = ()
    stamps: bytes = b""
    """Stamps of the directory and of each file, concatenated."""

    @property
    def parts(self) -> Parts:
        """The components of its path."""
        return tuple(self.path.split("/")) if self.path else ()


class SkillDirectory(msgspec.Struct, frozen=True):
    """A directory with a skill; its descriptor is open until the search goes on."""

    parts: Parts
    descriptor: int
    names: frozenset[str]
    """Names of all its entries."""
    file: str | None
    """Name of its `SKILL.md` as spelled on disk."""
    stamp: bytes


class Search:
    """One bounded search and what it skipped; the lists are complete after it has ended."""

    def __init__(self, options: ScanOptions) -> None:
        self.refused: list[tuple[Parts, OSError]] = []
        """Directories that could not be read."""
        self.limits: list[str] = []
        """Settings whose limits ended the search early."""
        self._options = options
        self._entries = options.max_entries_per_root

    def skills(self, root: int) -> Iterator[SkillDirectory]:
        """Yield each directory with a skill, breadth first and by name.

        What is below such a directory belongs to the skill and is not searched.
        """
        for visited in self.visit(root):
            if isinstance(visited, SkillDirectory):
                yield visited

    def visit(
        self, root: int, cached: Mapping[str, VisitedDirectory] | None = None
    ) -> Iterator[SkillDirectory | VisitedDirectory]:
        """Yield every visited directory; cached ones are not opened."""
        waiting: deque[Parts] = deque([()])
        remaining = self._options.max_dirs_per_root - 1
        while waiting and "max_entries_per_root" not in self.limits:
            parts = waiting.popleft()
            visited = cached.get("/".join(parts)) if cached else None
            if visited is not None:
                if not self._consume(visited.entries):
                    return
                yield visited
            else:
                try:
                    descriptor = open_below(root, parts, OPEN_TO_LIST)
                except OSError as error:
                    self.refused.append((parts, error))
                    continue
                try:
                    result = self._list(descriptor, parts)
                    if result is not None:
                        yield result
                except OSError as error:
                    self.refused.append((parts, error))
                    continue
                finally:
                    os.close(descriptor)
                if not isinstance(result, VisitedDirectory):
                    continue
                visited = result
            inner = visited.directories
            if inner and len(parts) >= self._options.max_depth:
                self._reach_limit("max_depth")
                continue
            if len(inner) > remaining:
                self._reach_limit("max_dirs_per_root")
            waiting.extend((*parts, name) for name in inner[:remaining])
            remaining = max(remaining - len(inner), 0)

    def _list(self, descriptor: int, parts: Parts) -> SkillDirectory | VisitedDirectory | None:
        stamp = stamp_of(os.fstat(descriptor))
        with os.scandir(descriptor) as listing:
            entries = list(listing if self._entries is None else islice(listing, self._entries + 1))
        if not self._consume(len(entries)):
            return None
        names = frozenset([entry.name for entry in entries])
        file = pick_skill_file(names)
        if file is not None or RUN_FILE in names:
            return SkillDirectory(parts, descriptor, names, file, stamp)
        hides = self._options.ignore_dot_entries
        entered = sorted(
            (entry for entry in entries if entry.name not in _NEVER_ENTERED and not (hides and entry.name[0] == ".")),
            key=lambda entry: entry.name,
        )
        return VisitedDirectory(
            "/".join(parts),
            len(entries),
            directories=tuple(entry.name for entry in entered if entry.is_dir(follow_symlinks=False)),
            links=tuple(entry.name for entry in entered if entry.is_symlink()),
            stamps=stamp,
        )

    def _consume(self, entries: int) -> bool:
        """Subtract entries from the search budget; return False if it is exhausted."""
        if self._entries is None:
            return True
        if entries > self._entries:
            self._reach_limit("max_entries_per_root")
            return False
        self._entries -= entries
        return True

    def _reach_limit(self, limit: str) -> None:
        if limit not in self.limits:
            self.limits.append(limit)


def stamp_of(status: os.stat_result) -> bytes:
    """Build the stamp of a stat result."""
    return STAMP.pack(status.st_ctime_ns, status.st_mtime_ns, status.st_ino, status.st_size)


def stamp_at(path: str, *, directory: int | None = None) -> bytes:
    """Return the stamp of a path without following links, or of the error."""
    try:
        return stamp_of(os.stat(path, dir_fd=directory, follow_symlinks=False))
    except OSError as error:
        return STAMP.pack(-(error.errno or 0), 0, 0, 0)


def skill_directories(path: Path) -> list[Path]:
    """Return the skill directories of a path: that of a skill file, all below a directory, or the path itself."""
    if path.name.lower() == "skill.md" and path.is_file():
        return [path.parent]
    if not path.is_dir():
        return [path]
    with open_directory(Path(os.path.realpath(path))) as top:
        return [path.joinpath(*skill.parts) for skill in Search(ScanOptions()).skills(top)] or [path]


def read_skill(directory: SkillDirectory, directory_name: str, max_bytes: int) -> ReadSkill:
    """Read the skill in a directory with its errors and warnings."""
    read = ReadSkill(file=directory.file or RUN_FILE, problems=[])
    skill = _read_text(directory, directory_name, max_bytes, read) if directory.file else None
    if RUN_FILE in directory.names:
        _read_run(directory, directory_name, skill, read)
    if skill is not None and all(problem.severity != "error" for problem in read.problems):
        read.name, read.description, read.metadata = skill.name, one_line(skill.description), skill.other
    if read.name and _DEPENDENCIES[0] in directory.names:
        read.variables = _read_variables(directory.descriptor, read)
    return read


def _read_text(directory: SkillDirectory, directory_name: str, max_bytes: int, read: ReadSkill) -> Properties | None:
    limit = max_bytes + FENCE_BYTES
    try:
        data = read_below(directory.descriptor, (read.file,), limit=limit)
        content = (
            data if len(data) < limit else read_below(directory.descriptor, (read.file,), limit=MAX_FILE_BYTES + 1)
        )
    except OSError as error:
        read.is_complete = False
        read.problems.append(invalid(f"`{read.file}` cannot be read: {error_reason(error)}", hint="check the file"))
        return None
    if len(content) <= MAX_FILE_BYTES:
        read.content_hash = hashlib.sha256(content).hexdigest()
    else:
        problem = Problem(
            code="SKILL_BODY_TOO_LARGE",
            message=f"the skill cannot be used: it is too large, `{read.file}` has more than {MAX_FILE_BYTES} bytes",
            hint="move parts of it into files below `references/`",
        )
        read.problems.append(problem)
    parsed = parse_skill(data, mode="lenient", directory_name=directory_name, max_bytes=max_bytes)
    if read.file != FILE_NAME:
        read.problems += _problems([misnamed(read.file, "lenient")])
    read.problems += _problems(parsed.diagnostics)
    return parsed.skill


def _read_run(directory: SkillDirectory, directory_name: str, skill: Properties | None, read: ReadSkill) -> None:
    """Read `skill.yaml`; beside an invalid `SKILL.md` it does not make a skill."""
    try:
        data = read_below(directory.descriptor, (RUN_FILE,), limit=RUN_BYTES + 1)
    except OSError as error:
        read.is_complete = False
        read.problems.append(invalid(f"`{RUN_FILE}` cannot be read: {error_reason(error)}", hint="check the file"))
        return
    read.run, diagnostics = parse_run(data)
    read.problems += _problems(diagnostics)
    if read.run is None:
        return
    name = usable_name(read.run.name, directory_name)
    if skill is not None and name != skill.name:
        read.problems += _problems([disagreement(skill.name, read.run.name, "lenient")])
    elif directory.file is None:
        read.name, read.description = name, one_line(read.run.description) or f"Runs {name}."
        read.content_hash = hashlib.sha256(data).hexdigest()


def _read_variables(descriptor: int, read: ReadSkill) -> tuple[str, ...]:
    """Read the variables that a skill declares; add a warning if the declaration is invalid."""
    result: tuple[str, ...] | Problem
    try:
        data = read_below(descriptor, _DEPENDENCIES, limit=_DEPENDENCIES_BYTES + 1)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return ()
        read.is_complete = False
        result = invalid(f"its `agents/openai.yaml` cannot be read: {error_reason(error)}", hint="check that file")
    else:
        too_long = f"its `agents/openai.yaml` is longer than {_DEPENDENCIES_BYTES} bytes"
        fits = len(data) <= _DEPENDENCIES_BYTES
        result = parse_required_variables(data) if fits else invalid(too_long, hint="shorten it")
    if isinstance(result, Problem):
        read.problems.append(msgspec.structs.replace(result, severity="warning"))
        return ()
    return result


def _problems(diagnostics: Iterable[Diagnostic]) -> Iterator[Problem]:
    """Convert diagnostics to problems; those of severity `info` are only reported by validation."""
    for diagnostic in diagnostics:
        if diagnostic.severity != "info":
            broken = diagnostic.severity == "error"
            yield Problem(
                code="SKILL_SCAN_METADATA_INVALID",
                message=f"the skill cannot be used: {diagnostic.message}" if broken else diagnostic.message,
                hint=diagnostic.hint,
                severity="error" if broken else "warning",
                details={"rule": diagnostic.code, "file": diagnostic.file, "line": diagnostic.line},
            )


class FilesystemSource:
    """Finds and reads the skills below one directory."""

    def __init__(self, origin: Origin, root: Path, options: ScanOptions | None = None) -> None:
        self.origin = origin
        self.root = Path(os.path.realpath(root))
        self.options = options or ScanOptions()

    def skills(self) -> Report:
        """Search the directory."""
        search = Search(self.options)
        return self.report(self.visit(search), search)

    def visit(self, search: Search, cached: Mapping[str, VisitedDirectory] | None = None) -> list[VisitedDirectory]:
        """Search the directory and read its skills, except for cached directories."""
        visited: list[VisitedDirectory] = []
        try:
            with open_directory(self.root) as root:
                for item in search.visit(root, cached):
                    visited.append(item if isinstance(item, VisitedDirectory) else self._read(item))
        except OSError as error:
            search.refused.append(((), error))
        return visited

    def _read(self, directory: SkillDirectory) -> VisitedDirectory:
        files = [name for name in (directory.file, RUN_FILE) if name is not None and name in directory.names]
        if _DEPENDENCIES[0] in directory.names:
            files.append("/".join(_DEPENDENCIES))
        # Before anything is read, so that a change meanwhile leaves another stamp.
        stamps = [stamp_at(name, directory=directory.descriptor) for name in files]
        name = directory.parts[-1] if directory.parts else self.root.name
        skill = read_skill(directory, name, self.options.max_frontmatter_bytes)
        return VisitedDirectory(
            "/".join(directory.parts),
            len(directory.names),
            skill=skill,
            files=tuple(files),
            stamps=b"".join((directory.stamp, *stamps)),
        )

    def report(self, visited: Iterable[VisitedDirectory], search: Search) -> Report:
        """Build the report of a search: its skills, their problems and what was skipped."""
        skills: list[Skill] = []
        problems: list[Problem] = []
        links: list[Parts] = []
        origin, base = self.origin, str(self.root).rstrip("/")
        for directory in visited:
            links += [(*directory.parts, name) for name in directory.links]
            read = directory.skill
            if read is None:
                continue
            if read.name:
                file = f"{base}/{directory.path}/{read.file}" if directory.path else f"{base}/{read.file}"
                skills.append(
                    Skill(
                        namespace=origin.namespace,
                        name=read.name,
                        description=read.description,
                        locator=one_line(file),
                        space_id=origin.space_id,
                        source_id=origin.source_id,
                        file=file,
                        metadata=read.metadata,
                        required_env_vars=read.variables,
                        run=read.run,
                        content_hash=read.content_hash,
                    )
                )
            problems += [self._locate(problem, directory.parts) for problem in read.problems]
        for parts, error in search.refused:
            message = f"the directory cannot be searched for skills: {error_reason(error)}"
            hint = "check that it exists and that this user may read it"
            problem = Problem(code="SKILL_SCAN_SOURCE_UNAVAILABLE", message=message, hint=hint)
            problems.append(self._locate(problem, parts))
        for limit in search.limits:
            message = f"not every directory was searched for skills: `{self.options.settings}.{limit}` was reached"
            problem = Problem(code="SKILL_SCAN_LIMIT_REACHED", message=message, hint="raise it", severity="warning")
            problems.append(self._locate(problem, ()))
        problems += [self._locate(problem, parts) for parts in links if (problem := self._link_problem(parts))]
        return Report(tuple(skills), tuple(problems))

    def body(self, skill: Skill) -> str:
        """Read the Markdown body of a skill; a skill with only a `skill.yaml` has none."""
        if skill.path is None or not skill.path.is_relative_to(self.root):
            raise _read_error(skill, "it is not a file of this source")
        if skill.path.name == RUN_FILE:
            return ""
        try:
            with open_directory(self.root) as root:
                data = read_below(root, skill.path.relative_to(self.root).parts, limit=MAX_FILE_BYTES + 1)
        except OSError as error:
            raise _read_error(skill, error_reason(error)) from error
        if len(data) > MAX_FILE_BYTES:
            raise failure(
                "SKILL_BODY_TOO_LARGE",
                f"`{skill.mention.text}` is larger than {MAX_FILE_BYTES} bytes",
                hint="move parts of it into files below `references/`",
            )
        limit = self.options.max_frontmatter_bytes
        parsed = parse_skill(data, mode="lenient", directory_name=skill.path.parent.name, max_bytes=limit)
        if parsed.skill is None:
            raise _read_error(skill, "it has changed, and its front matter is broken now")
        try:
            return data[parsed.body_start :].decode()
        except UnicodeDecodeError as error:
            raise _read_error(skill, f"byte {parsed.body_start + error.start} is not UTF-8") from error

    def _locate(self, problem: Problem, parts: Parts) -> Problem:
        """Add the location to a problem, at least the directory of the skill."""
        locator, name = one_line(str(self.root.joinpath(*parts))), parts[-1] if parts else self.root.name
        return msgspec.structs.replace(problem, locator=locator, namespace=self.origin.namespace, name=name)

    def _link_problem(self, parts: Parts) -> Problem | None:
        """Report a link to a directory or a link cycle; a link's target can change without changing its directory."""
        link = self.root.joinpath(*parts)
        try:
            if not stat.S_ISDIR(link.stat().st_mode):
                return None
        except OSError as error:
            if error.errno != errno.ELOOP:
                return None
        target = Path(os.path.realpath(link))
        message = "a link to a directory was not followed in the search for skills"
        hint = "name the directory it leads to as a source of its own"
        if link.is_relative_to(target) or target == link:
            message, hint = "a link that leads in a circle was not followed in the search for skills", "remove it"
        elif target.is_relative_to(self.root):
            hint = "remove it; what it leads to is searched where it is"
        return Problem(code="SKILL_SCAN_LINK_SKIPPED", message=message, hint=hint, severity="warning")


def _read_error(skill: Skill, reason: str) -> SkillError:
    return failure(
        "SKILL_BODY_READ_FAILED",
        f"the text of `{skill.mention.text}` cannot be read: {reason}",
        hint=f"check `{skill.locator}`",
    )
