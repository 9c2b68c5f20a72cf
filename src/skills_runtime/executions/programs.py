"""What runs a skill: the program for its entry, and what the skill is told by its environment."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.skills.scripts import Entry, entry_of
from skills_runtime.skills.skill import RunDefinition, Skill

NO_TYPESCRIPT = "No tsx or ts-node found for TypeScript skill"
TYPESCRIPT = ("tsx", "ts-node")
ARTIFACTS, SKILL, INPUT = "artifacts", "skill", "input.json"
"""In the directory of a stage: the copy of the skill, with a place for what it leaves behind, and its input."""
_OF_THE_INTERPRETER = ("PYTHON", "LD_", "MALLOC_", "GLIBC_")
"""Variables that a program looks at when it starts: a process that is already there cannot be told them."""


class Interpreter(msgspec.Struct, frozen=True):
    """A Python with the packages that a script needs."""

    program: str
    readable: tuple[Path, ...] = ()


class Packages(Protocol):
    """Provides the packages that scripts say they need."""

    async def interpreter(self, skill: Skill, file: str) -> Interpreter | None:
        """The Python for a file of a skill, or nothing where any will do."""
        ...


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """How a skill is started."""

    entry: Entry
    argv: tuple[str, ...]
    readable: tuple[Path, ...] = ()

    @property
    def is_python(self) -> bool:
        """Whether the entry is a Python script."""
        return self.entry.file.endswith(".py")


def definition_of(skill: Skill) -> RunDefinition:
    """How the skill runs; one that does not run by itself is refused."""
    if skill.run is None or skill.directory is None:
        raise ValidationFailed(
            f"the skill `{skill.name}` cannot be run by itself: it has no `skill.yaml`",
            hint="only skills with a `skill.yaml` and an entry such as `run.py` can be executed",
        )
    return skill.run


async def program_of(skill: Skill, packages: Packages | None) -> Program:
    """What the entry of a skill is started with."""
    entry = entry_of(skill)
    if packages is not None and entry.file.endswith(".py"):
        found = await packages.interpreter(skill, entry.file)
        if found is not None:
            return Program(entry=entry, argv=(found.program, entry.file), readable=found.readable)
    return Program(entry=entry, argv=(entry.program, entry.file))


def alternatives(program: Program) -> tuple[tuple[str, ...], ...]:
    """The commands to try in turn: there are two programs for TypeScript."""
    if program.entry.program != "tsx":
        return (program.argv,)
    return tuple((name, program.entry.file) for name in TYPESCRIPT)


def not_found(program: Program, error: NotFound) -> NotFound:
    """The error for a program that is not there."""
    if program.entry.program == "tsx":
        return NotFound(NO_TYPESCRIPT, hint="install one of them where the sandbox can see it: `npm install -g tsx`")
    return error


def told(skill: Skill, execution_id: str, stage: Path, declared: Mapping[str, str]) -> dict[str, str]:
    """The environment of an execution besides the little every process needs."""
    work = f"{stage}/{SKILL}"
    return {
        "SKILLS_RUNTIME_SDK_WORKSPACE_ROOT": work,
        **declared,
        "SKILL_NAME": skill.run.name if skill.run is not None else skill.name,
        "SKILL_EXECUTION_ID": execution_id,
        "SKILL_ARTIFACTS_DIR": f"{work}/{ARTIFACTS}",
        "SKILL_INPUT_FILE": f"{stage}/{INPUT}",
        "SKILLS_RUNTIME_SDK_SKILL_MENTION": skill.mention.text,
        "SKILLS_RUNTIME_SDK_SKILL_ACTION_ID": "run",
        "SKILLS_RUNTIME_SDK_SKILL_BUNDLE_ROOT": work,
    }


def may_be_warm(run: RunDefinition, declared: Mapping[str, str]) -> bool:
    """Whether a process that is already there can do the same as a new one."""
    alike = run.isolation == "copy" and not run.network
    return run.warm and alike and not any(name.startswith(_OF_THE_INTERPRETER) for name in declared)
