"""Skills in directories: every directory below a root that has a `SKILL.md` or a `skill.yaml`.

Bodies are read when they are needed, and what lies on the way to them is looked at again then.
"""

import errno
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.skills.problems import Problem, SkillError, failure
from skills_runtime.skills.skill import RunDefinition, Skill
from skills_runtime.skills.sources.search import Found, Known, Memory, Parts, Search
from skills_runtime.skills.sources.source import Origin, Report, ScanOptions
from skills_runtime.skills.standard.diagnostics import Diagnostic
from skills_runtime.skills.standard.directories import FILE_NAME, MAX_FILE_BYTES, disagreement, misnamed
from skills_runtime.skills.standard.frontmatter import FENCE_BYTES
from skills_runtime.skills.standard.parse import Properties, parse_skill, usable_name
from skills_runtime.skills.standard.skill_yaml import FILE_NAME as RUN_FILE
from skills_runtime.skills.standard.skill_yaml import MAX_BYTES as RUN_BYTES
from skills_runtime.skills.standard.skill_yaml import parse_run, required_variables
from skills_runtime.skills.standard.specification import invalid
from skills_runtime.storage.nofollow import error_reason, open_directory, read_below
from skills_runtime.text import one_line

DEPENDENCIES = ("agents", "openai.yaml")
_DEPENDENCIES_BYTES = 65_536


class Read(msgspec.Struct, kw_only=True):
    """What a directory holds; without a name it is no skill that can be used."""

    name: str = ""
    description: str = ""
    metadata: Mapping[str, Any] = {}
    variables: tuple[str, ...] = ()
    run: RunDefinition | None = None
    content_hash: str = ""
    problems: list[Problem]
    is_whole: bool = True
    """Whether every file could be read; what could not may be there the next time."""


def read_skill(found: Found, directory_name: str, max_bytes: int) -> Read:
    """The skill in a directory, and what is wrong with it; a skill may come with warnings."""
    read = Read(problems=[])
    skill = _text(found, directory_name, max_bytes, read) if found.file else None
    if RUN_FILE in found.names:
        _run(found, directory_name, skill, read)
    if skill is not None and not _is_broken(read):
        read.name, read.description, read.metadata = skill.name, one_line(skill.description), skill.other
    if read.name and DEPENDENCIES[0] in found.names:
        read.variables = _variables(found.descriptor, read)
    return read


def _text(found: Found, directory_name: str, max_bytes: int, read: Read) -> Properties | None:
    file = found.file or FILE_NAME
    try:
        data = read_below(found.descriptor, (file,), limit=max_bytes + FENCE_BYTES)
        read.content_hash = _hash(found.descriptor, file, data, max_bytes + FENCE_BYTES)
    except OSError as error:
        read.is_whole = False
        read.problems.append(invalid(f"`{file}` cannot be read: {error_reason(error)}", hint="check the file"))
        return None
    if not read.content_hash:
        read.problems.append(_too_large(file))
    parsed = parse_skill(data, mode="lenient", directory_name=directory_name, max_bytes=max_bytes)
    if file != FILE_NAME:
        read.problems += _problems([misnamed(file, "lenient")])
    read.problems += _problems(parsed.diagnostics)
    return parsed.skill


def _hash(directory: int, file: str, data: bytes, limit: int) -> str:
    """The digest of a whole file whose beginning was read, or nothing for one that is too large to be used."""
    if len(data) < limit:
        return hashlib.sha256(data).hexdigest()
    if os.stat(file, dir_fd=directory, follow_symlinks=False).st_size > MAX_FILE_BYTES:
        return ""
    whole = read_below(directory, (file,), limit=MAX_FILE_BYTES + 1)
    return hashlib.sha256(whole).hexdigest() if len(whole) <= MAX_FILE_BYTES else ""


def _too_large(file: str) -> Problem:
    return Problem(
        code="SKILL_BODY_TOO_LARGE",
        message=f"the skill cannot be used: it is too large, `{file}` has more than {MAX_FILE_BYTES} bytes",
        hint="move parts of it into files below `references/`",
    )


def _run(found: Found, directory_name: str, skill: Properties | None, read: Read) -> None:
    """Take the definition of a skill that runs by itself; beside a broken `SKILL.md` it makes no skill."""
    try:
        data = read_below(found.descriptor, (RUN_FILE,), limit=RUN_BYTES + 1)
    except OSError as error:
        read.is_whole = False
        read.problems.append(invalid(f"`{RUN_FILE}` cannot be read: {error_reason(error)}", hint="check the file"))
        return
    read.run, diagnostics = parse_run(data)
    read.problems += _problems(diagnostics)
    if read.run is None:
        return
    name = usable_name(read.run.name, directory_name)
    if skill is not None and name != skill.name:
        read.problems += _problems([disagreement(skill.name, read.run.name, "lenient")])
    elif found.file is None:
        read.name, read.description = name, one_line(read.run.description) or f"Runs {name}."
        read.content_hash = hashlib.sha256(data).hexdigest()


def _is_broken(read: Read) -> bool:
    return any(problem.severity == "error" for problem in read.problems)


def _problems(diagnostics: Iterable[Diagnostic]) -> Iterator[Problem]:
    """What of a finding a search reports; remarks are for whoever validates the skill."""
    for one in diagnostics:
        if one.severity != "info":
            broken = one.severity == "error"
            yield Problem(
                code="SKILL_SCAN_METADATA_INVALID",
                message=f"the skill cannot be used: {one.message}" if broken else one.message,
                hint=one.hint,
                severity="error" if broken else "warning",
                details={"rule": one.code, "file": one.file, "line": one.line},
            )


def _variables(descriptor: int, read: Read) -> tuple[str, ...]:
    """The variables that a skill declares; a declaration that cannot be read is a warning."""
    found: tuple[str, ...] | Problem
    try:
        data = read_below(descriptor, DEPENDENCIES, limit=_DEPENDENCIES_BYTES + 1)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return ()
        read.is_whole = False
        found = invalid(f"its `agents/openai.yaml` cannot be read: {error_reason(error)}", hint="check that file")
    else:
        too_long = f"its `agents/openai.yaml` is longer than {_DEPENDENCIES_BYTES} bytes"
        fits = len(data) <= _DEPENDENCIES_BYTES
        found = required_variables(data) if fits else invalid(too_long, hint="shorten it")
    if isinstance(found, Problem):
        read.problems.append(msgspec.structs.replace(found, severity="warning"))
        return ()
    return found


MAX_BODY_BYTES = 16 << 20
"""No skill is longer, whatever the settings allow."""


class FilesystemSource:
    """Finds and reads the skills below one directory."""

    def __init__(self, origin: Origin, root: Path, options: ScanOptions | None = None) -> None:
        self.origin = origin
        self.root = Path(os.path.realpath(root))
        self.options = options or ScanOptions()

    def skills(self) -> Report:
        """Search the directory."""
        return self.search(Search(self.options))

    def search(self, search: Search, memory: Memory | None = None) -> Report:
        """Search the directory in one way or another; what the memory still knows is not read again."""
        skills: list[Skill] = []
        problems: list[Problem] = []
        try:
            with open_directory(self.root) as root:
                for found in search.found(root):
                    read = found.read if isinstance(found, Known) else self.read(found, memory)
                    skills += self._skill(found, read)
                    if read.problems:
                        problems += self.placed(read.problems, found.parts)
        except OSError as error:
            problems += self._unavailable((), error)
        return Report(tuple(skills), (*problems, *self.left_out(search)))

    def read(self, found: Found, memory: Memory | None) -> Read:
        """Read one skill, and let the memory know."""
        if memory:
            memory.found(found)
        read = read_skill(found, self._name_of(found.parts), self.options.max_frontmatter_bytes)
        if memory:
            memory.read(found, read)
        return read

    def body(self, skill: Skill) -> str:
        """The Markdown of a skill, read now; one that only runs has none."""
        if skill.path is None or not skill.path.is_relative_to(self.root):
            raise _unread(skill, "it is not a file of this source")
        if skill.path.name == RUN_FILE:
            return ""
        try:
            with open_directory(self.root) as root:
                data = read_below(root, skill.path.relative_to(self.root).parts, limit=MAX_BODY_BYTES + 1)
        except OSError as error:
            raise _unread(skill, error_reason(error)) from error
        if len(data) > MAX_BODY_BYTES:
            raise failure(
                "SKILL_BODY_TOO_LARGE",
                f"`{skill.mention.text}` is larger than {MAX_BODY_BYTES} bytes",
                hint="move parts of it into files below `references/`",
            )
        limit = self.options.max_frontmatter_bytes
        parsed = parse_skill(data, mode="lenient", directory_name=skill.path.parent.name, max_bytes=limit)
        if parsed.skill is None:
            raise _unread(skill, "it has changed, and its front matter is broken now")
        try:
            return data[parsed.body_start :].decode()
        except UnicodeDecodeError as error:
            raise _unread(skill, f"byte {parsed.body_start + error.start} is not UTF-8") from error

    def _name_of(self, parts: Parts) -> str:
        return parts[-1] if parts else self.root.name

    def _skill(self, found: Found | Known, read: Read) -> Iterator[Skill]:
        if read.name:
            path = "/".join((str(self.root).rstrip("/"), *found.parts, found.file or RUN_FILE))
            yield Skill(
                namespace=self.origin.namespace,
                name=read.name,
                description=read.description,
                locator=(found.locator or path) if isinstance(found, Known) else one_line(path),
                space_id=self.origin.space_id,
                source_id=self.origin.source_id,
                file=path,
                metadata=read.metadata,
                required_env_vars=read.variables,
                run=read.run,
                content_hash=read.content_hash,
            )

    def placed(self, problems: Iterable[Problem], parts: Parts) -> Iterator[Problem]:
        """The problems with where they are; whoever looks for a broken skill knows its directory at least."""
        for problem in problems:
            locator = one_line(str(self.root.joinpath(*parts)))
            yield msgspec.structs.replace(
                problem, locator=locator, namespace=self.origin.namespace, name=self._name_of(parts)
            )

    def _unavailable(self, parts: Parts, error: OSError) -> Iterator[Problem]:
        message = f"the directory cannot be searched for skills: {error_reason(error)}"
        hint = "check that it exists and that this user may read it"
        return self.placed([Problem(code="SKILL_SCAN_SOURCE_UNAVAILABLE", message=message, hint=hint)], parts)

    def left_out(self, search: Search) -> Iterator[Problem]:
        """What a search did not look into, and why."""
        for parts, error in search.refused:
            yield from self._unavailable(parts, error)
        for limit in search.limits:
            message = f"not every directory was searched for skills: `{self.options.settings}.{limit}` was reached"
            problem = Problem(code="SKILL_SCAN_LIMIT_REACHED", message=message, hint="raise it", severity="warning")
            yield from self.placed([problem], ())
        for parts in search.links:
            message, hint = self._about_link(self.root.joinpath(*parts))
            problem = Problem(code="SKILL_SCAN_LINK_SKIPPED", message=message, hint=hint, severity="warning")
            yield from self.placed([problem], parts)

    def _about_link(self, link: Path) -> tuple[str, str]:
        target = Path(os.path.realpath(link))
        if link.is_relative_to(target) or target == link:
            return "a link that leads in a circle was not followed in the search for skills", "remove it"
        hint = "name the directory it leads to as a source of its own"
        if target.is_relative_to(self.root):
            hint = "remove it; what it leads to is searched where it is"
        return "a link to a directory was not followed in the search for skills", hint


def _unread(skill: Skill, why: str) -> SkillError:
    return failure(
        "SKILL_BODY_READ_FAILED",
        f"the text of `{skill.mention.text}` cannot be read: {why}",
        hint=f"check `{skill.locator}`",
    )
