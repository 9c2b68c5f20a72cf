"""Executions of skills without a model: start, list, show, cancel and remove them, and list executable skills.

`Executions` needs no ledger: a command can use it alone; `RunService.executions` is the same for a service.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self

import msgspec

from skills_runtime.config import Resolved
from skills_runtime.engine.run_requests import find_skill
from skills_runtime.engine.workspace import Workspace
from skills_runtime.errors import NotFound
from skills_runtime.executions import (
    STDERR,
    STDOUT,
    Execution,
    ExecutionLimits,
    Executor,
    PoolLimits,
    Record,
    ScriptPackages,
    Status,
    Supplies,
    build_sandboxes,
    declared_variables,
    stages_in_memory,
)
from skills_runtime.sandbox.egress import EgressCallbacks, EgressRecord
from skills_runtime.skills import (
    RUN_FILE,
    FilesystemSource,
    IndexedSource,
    Library,
    Origin,
    Problem,
    ScanOptions,
    Skill,
    SkillError,
    explain_untrusted,
    find_entry_point,
    load_library,
)

DIRECTORY = ".skills_runtime_sdk/executions"
"""Where executions are stored, below the workspace."""
LOG_FILES = {"stdout": STDOUT, "stderr": STDERR}
NAMESPACE = "local"
DEPTH = 1
"""A skill is a direct subdirectory of the skills directory."""


class ExecutionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of executions; the defaults suit a single command."""

    resolved: Resolved | None = None
    """The settings of the workspace, if already resolved."""
    directory: Path | None = None
    """Where executions are stored; `None` means below the workspace."""
    library: Library | None = None
    """The skills to choose from; `None` means all that `skills list` shows."""
    skills_dir: Path | None = None
    """Execute only the skills in this directory, by the names in their `skill.yaml`."""
    limits: ExecutionLimits | None = None
    pool: PoolLimits = PoolLimits(warm=0)
    """By default no process is kept warm for the next execution."""
    in_memory: bool = False
    """Whether executions use an in-memory directory where the machine allows it."""
    on_egress: Callable[[EgressRecord], None] = lambda _: None
    """Called with every host that a skill tried to reach."""


class Executions:
    """The executions of a workspace; leaving its context ends all executions in progress."""

    def __init__(self, workspace: Workspace, options: ExecutionOptions | None = None) -> None:
        self._workspace = workspace
        self._options = options or ExecutionOptions()

    async def __aenter__(self) -> Self:
        await self._executor.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._executor.aclose()

    @property
    def executor(self) -> Executor:
        """Return the executor, which runs and stores executions."""
        return self._executor

    @property
    def directory(self) -> Path:
        """Return the directory where executions are stored."""
        return self._options.directory or self._resolved.workspace_root / DIRECTORY

    def find(self, name: str) -> Skill:
        """Find an executable skill; a skill whose entry file is missing is found too and fails when it is started."""
        return self._skills.find(name)

    def name_of(self, skill: Skill) -> str | None:
        """Return the name under which a workspace skill is executed here, if it can be."""
        for executable in self._skills.list_skills().skills:
            if executable.run is not None and executable.directory == skill.directory:
                return executable.run.name
        return None

    def list_skills(self) -> "SkillListing":
        """List the executable skills, and the problems of others."""
        return self._skills.list_skills()

    async def start(
        self, skill: Skill, value: Any, *, timeout_ms: int | None = None, key: str | None = None
    ) -> Execution:
        """Execute a skill and return when it has ended, with any outcome; cancelling the caller ends it.

        The same key with the same skill and input returns the same execution.
        """
        return await self._executor.execute(skill, value, timeout_ms=timeout_ms, key=key)

    async def list(
        self, *, limit: int = 100, after: str | None = None, status: Status | None = None, skill: str | None = None
    ) -> Sequence[Record]:
        """List executions, the newest first, after the one with the given id."""
        return await self._executor.list(limit=limit, after=after, status=status, skill=skill)

    async def show(self, execution_id: str) -> Execution:
        """Return an execution, in progress or ended."""
        return await self._executor.get(execution_id)

    async def cancel(self, execution_id: str) -> Execution:
        """Cancel an execution and all its processes; one that has ended stays as it is."""
        return await self._executor.cancel(execution_id)

    async def cancel_all(self) -> None:
        """Cancel every execution that was started here."""
        for record in await self._executor.list(status="running"):
            await self._executor.cancel(record.execution_id)

    async def remove(self, execution_id: str) -> None:
        """Remove an ended execution with all its files, which frees its idempotency key."""
        await self._executor.forget(execution_id)

    def directory_of(self, execution_id: str) -> Path:
        """Return the directory of an execution's files."""
        return self._executor.directory(execution_id)

    @cached_property
    def _resolved(self) -> Resolved:
        return self._options.resolved or self._workspace.settings()

    @cached_property
    def _skills(self) -> "_ExecutableSkills":
        process = self._resolved.environment.process
        if self._options.skills_dir is not None:
            return SkillRegistry(self._options.skills_dir, process)
        library = self._options.library
        return LibrarySkills(lambda: library or load_library(self._resolved))

    @cached_property
    def _executor(self) -> Executor:
        options, resolved = self._options, self._resolved
        directory = self.directory
        offline, online = build_sandboxes(resolved.settings.sandbox, resolved.environment.process)
        return Executor(
            directory,
            offline,
            limits=options.limits,
            pool=options.pool,
            supplies=Supplies(
                variables=self._skills.variables,
                packages=ScriptPackages(),
                egress_callbacks=lambda: EgressCallbacks(record=options.on_egress),
                network=online,
                stages=stages_in_memory(directory) if options.in_memory else None,
            ),
        )


class SkillListing(msgspec.Struct, frozen=True):
    """The executable skills, and the problems of others."""

    skills: tuple[Skill, ...]
    errors: tuple[str, ...]


class _ExecutableSkills(Protocol):
    def find(self, name: str) -> Skill: ...

    def list_skills(self) -> SkillListing: ...

    def variables(self, skill: Skill) -> Mapping[str, str]: ...


class LibrarySkills:
    """The skills of a library, loaded again for every request, so that changes count at once."""

    def __init__(self, load: Callable[[], Library]) -> None:
        self._load = load
        self._library: Library | None = None

    def find(self, name: str) -> Skill:
        """Find a skill by its mention or name, with the reason if there is none or it may not be used."""
        self._library = self._load()
        return find_skill(self._library, name)

    def list_skills(self) -> SkillListing:
        """List the skills that can be executed, each under the name that finds it, and the problems of others."""
        library = self._library = self._load()
        skills = [skill for skill in library.usable() if skill.run is not None]
        counts = Counter(skill.name for skill in skills)
        ready, errors = list[Skill](), list[str]()
        for skill in skills:
            try:
                find_entry_point(skill)
            except SkillError as error:
                errors.append(f"{_directory_name(skill)}: {error.message}")
                continue
            run = skill.run
            assert run is not None, "only skills with a program are listed"
            name = skill.name if counts[skill.name] == 1 else skill.mention.text
            ready.append(msgspec.structs.replace(skill, run=msgspec.structs.replace(run, name=name)))
        errors += [
            f"{_directory_name(skill)}: {explain_untrusted(skill)}"
            for skill in library.untrusted()
            if skill.run is not None
        ]
        problems = (problem for problem in library.problems() if problem.code == "SKILL_SCAN_METADATA_INVALID")
        errors += map(_describe, filter(_concerns_execution, problems))
        return SkillListing(tuple(ready), tuple(sorted(errors)))

    def variables(self, skill: Skill) -> Mapping[str, str]:
        """Return the variables that a skill declares; a missing required one is an error."""
        return declared_variables(self._library or self._load(), skill)


class SkillRegistry:
    """Executable skills below one directory; additions and changes are visible at once to every worker."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        files = FilesystemSource(Origin(NAMESPACE, NAMESPACE, "skills-dir"), root, ScanOptions(max_depth=DEPTH))
        self._source = IndexedSource(files, None)
        self._environment = environment

    def find(self, name: str) -> Skill:
        """Find a skill by the name in its `skill.yaml`, or by a mention such as `$[local].name`."""
        target = name.removeprefix(f"$[{NAMESPACE}].")
        for skill in self._definitions().skills:
            if skill.run is not None and skill.run.name == target:
                return skill
        displayed = name[:80]
        hint = "`GET /api/skills` lists them"
        raise NotFound(f"there is no skill {displayed!a}", hint=hint, resource="skill", name=displayed)

    def list_skills(self) -> SkillListing:
        """List the current skills, by directory name."""
        definitions = self._definitions()
        ready, errors = list[Skill](), list(definitions.errors)
        for skill in definitions.skills:
            try:
                find_entry_point(skill)
            except SkillError as error:
                errors.append(f"{_directory_name(skill)}: {error.message}")
            else:
                ready.append(skill)
        return SkillListing(tuple(ready), tuple(sorted(errors)))

    def variables(self, skill: Skill) -> Mapping[str, str]:
        """Return the variables that a skill declares and that are set."""
        declared = skill.run.env if skill.run is not None else ()
        return {name: value for name in declared if (value := self._environment.get(name)) is not None}

    def _definitions(self) -> SkillListing:
        """Return all definitions, including those whose entry file is missing."""
        report = self._source.skills()
        first: dict[str, Skill] = {}
        errors = list[str]()
        for problem in report.problems:
            if _concerns_execution(problem):
                errors.append(_describe(problem))
        for skill in sorted(report.skills, key=_directory_name):
            if skill.run is None:
                continue
            existing = first.setdefault(skill.run.name, skill)
            if existing is not skill:
                errors.append(f"{_directory_name(skill)}: the name `{skill.run.name}` is that of another skill already")
        return SkillListing(tuple(first.values()), tuple(errors))


def _describe(problem: Problem) -> str:
    message = problem.message.removeprefix("the skill cannot be used: ")
    return f"{problem.name or Path(problem.locator).name}: {message}"


def _directory_name(skill: Skill) -> str:
    return skill.directory.name if skill.directory else skill.name


def _concerns_execution(problem: Problem) -> bool:
    """Return whether a problem is about an executable skill; others do not belong in this list."""
    about_skill = problem.code == "SKILL_SCAN_METADATA_INVALID"
    return problem.severity != "notice" and (not about_skill or os.path.lexists(Path(problem.locator, RUN_FILE)))
