"""Reads one directory as a skill, leniently: what can be used is used, and what was odd is reported."""

import errno
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from skills_runtime.skills.problems import Problem
from skills_runtime.skills.skill import RunDefinition
from skills_runtime.skills.sources.search import Found
from skills_runtime.skills.standard.diagnostics import Diagnostic
from skills_runtime.skills.standard.directories import FILE_NAME, MAX_FILE_BYTES, disagreement, misnamed
from skills_runtime.skills.standard.frontmatter import FENCE_BYTES
from skills_runtime.skills.standard.parse import Properties, parse_skill, usable_name
from skills_runtime.skills.standard.skill_yaml import FILE_NAME as RUN_FILE
from skills_runtime.skills.standard.skill_yaml import MAX_BYTES as RUN_BYTES
from skills_runtime.skills.standard.skill_yaml import parse_run, required_variables
from skills_runtime.skills.standard.specification import invalid
from skills_runtime.storage.nofollow import error_reason, read_below
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
