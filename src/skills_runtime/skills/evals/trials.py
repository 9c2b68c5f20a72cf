"""One trial of an evaluation: its input files and skills, the port that runs it, and its result.

Starts no run itself; the caller passes a `TrialRunner`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.events import Event, ToolCallRequested
from skills_runtime.skills.library import Library
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.sources import FilesystemSource, Origin
from skills_runtime.storage import open_directory, read_below, remove_tree, wrap_write_errors

Variant = Literal["with_skill", "without_skill"]
NAMESPACE, DISTRACTOR_NAMESPACE = "eval", "beside"
"""Namespaces of the evaluated skill and of the others."""
MAX_INPUT_BYTES = 256 << 20
# Step limit of a query: a model that has not called a skill by then is not going to.
MAX_STEPS = 3
_UNUSED_SUFFIXES = ("skipped", "offered", "listed", "routed", "discovered", "shadowed", "unloaded")
_NAME_FIELDS = ("skill_name", "skill", "name", "skill_mention", "mention_text")


class TrialRun(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one run of a trial."""

    run: str
    """The directory of the run."""
    status: str
    answer: str
    seconds: float
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    error: str = ""
    """Why the run failed; empty if it did not."""

    @property
    def tokens(self) -> int:
        """Input and output tokens."""
        return self.input_tokens + self.output_tokens


class TrialRunner(Protocol):
    """Runs the trials of an evaluation."""

    async def run(
        self, prompt: str, path: Path, library: Library, *, settings: Mapping[str, Any], tools: bool = True
    ) -> TrialRun:
        """Run a prompt in `path/outputs` with the run directory `path/run`; resume the run if it exists.

        `settings` are those of the configuration section `run`.
        """
        ...

    def events(self, path: Path) -> Sequence[Event]:
        """Read the events of the run below `path`."""
        ...


class TrialSkills(msgspec.Struct, frozen=True):
    """The skills that are visible to trials."""

    skill: Path
    environment: Mapping[str, str]
    distractors: Path | None = None
    """The directory of the other skills that queries see."""

    def library(self, variant: Variant) -> Library:
        """Build the library of a case trial: the evaluated skill, or none."""
        return Library(self._evaluated_sources(variant), environment=self.environment)

    def catalog(self, variant: Variant) -> Library:
        """Build the library of a query trial: all distractors, with or without the evaluated skill."""
        if self.distractors is None or not self.distractors.is_dir():
            return self.library(variant)
        source = FilesystemSource(Origin("eval", DISTRACTOR_NAMESPACE, "others"), self.distractors)
        return Library([*self._evaluated_sources(variant), source], environment=self.environment)

    def _evaluated_sources(self, variant: Variant) -> list[FilesystemSource]:
        origin = Origin("eval", NAMESPACE, "skill")
        return [FilesystemSource(origin, self.skill)] if variant == "with_skill" else []


def prepare_outputs(outputs: Path, files: Path, names: tuple[str, ...]) -> list[str]:
    """Create an empty working directory, copy the input files into it and return their names there."""
    remove_tree(outputs, ignore_errors=True)
    outputs.mkdir(parents=True)
    placed: list[str] = []
    for name in names:
        parts = tuple(name.split("/"))
        target = parts[-1] if parts[-1] not in placed else "-".join(parts)
        try:
            with open_directory(files.resolve()) as top:
                data = read_below(top, parts, limit=MAX_INPUT_BYTES + 1)
        except OSError as error:
            raise ValidationFailed(f"the file `{name}` of an eval cannot be used: {error.strerror}") from error
        if len(data) > MAX_INPUT_BYTES:
            raise ValidationFailed(f"the file `{name}` of an eval is larger than {MAX_INPUT_BYTES} bytes")
        with wrap_write_errors(outputs / target):
            (outputs / target).write_bytes(data)
        placed.append(target)
    return placed


def find_called_skills(events: Sequence[Event], skills: Sequence[Skill]) -> tuple[str, ...]:
    """Return the names of the skills that a run used, in order of first use."""
    return tuple(dict.fromkeys(skill.name for event in events for skill in skills if uses_skill(event, skill)))


def uses_skill(event: Event, skill: Skill) -> bool:
    """Return whether an event shows that the skill was loaded or that the model called it."""
    if event.type.startswith("skill_"):
        return not event.type.endswith(_UNUSED_SUFFIXES) and _names_skill(msgspec.to_builtins(event.payload), skill)
    if not isinstance(event.payload, ToolCallRequested):
        return False
    if "skill" in event.payload.name:
        return _names_skill(event.payload.arguments, skill)
    # Otherwise a file of the skill is read or run.
    directory = str(skill.directory)
    values = event.payload.arguments.values() if skill.directory is not None else ()
    return any(isinstance(value, str) and directory in value for value in values)


def _names_skill(fields: Mapping[str, Any], skill: Skill) -> bool:
    names = {skill.name, skill.mention.text, f"{skill.namespace}:{skill.name}", f"{skill.namespace}.{skill.name}"}
    return any(isinstance(value := fields.get(name), str) and value in names for name in _NAME_FIELDS)
