"""One trial of an evaluation: what it is given, the port that runs it, and what came of it.

Starts no run itself: whoever evaluates hands over a `TrialRunner`.
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
NAMESPACE, BESIDE = "eval", "beside"
"""The skill that is evaluated, and all others."""
MAX_INPUT_BYTES = 256 << 20
MAX_STEPS = 3
"""A model that has not called a skill after so many answers is not going to."""
_NOT_CALLED = ("skipped", "offered", "listed", "routed", "discovered", "shadowed", "unloaded")
_NAMES = ("skill_name", "skill", "name", "skill_mention", "mention_text")


class TrialRun(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run."""

    run: str
    """The directory of the run."""
    status: str
    answer: str
    seconds: float
    input_tokens: int
    output_tokens: int
    cost_usd: float
    error: str = ""
    """Why it does not count, if it does not."""

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.input_tokens + self.output_tokens


class TrialRunner(Protocol):
    """What makes the runs of an evaluation."""

    async def run(
        self, prompt: str, path: Path, library: Library, *, settings: Mapping[str, Any], tools: bool = True
    ) -> TrialRun:
        """Work on a prompt in `outputs` of a place, with the run in its `run`; a run that was begun goes on.

        `settings` are those of the section `run`.
        """
        ...

    def events(self, path: Path) -> Sequence[Event]:
        """The events of the run at a place."""
        ...


class TrialSkills(msgspec.Struct, frozen=True):
    """The skills that trials can see."""

    skill: Path
    environment: Mapping[str, str]
    others: Path | None = None
    """Where the other skills are that queries are tried among."""

    def library(self, variant: Variant) -> Library:
        """The skills that the trial of a case can see: the one that is evaluated, or none."""
        return Library(self._own(variant), environment=self.environment)

    def catalog(self, variant: Variant) -> Library:
        """The skills that the trial of a query can see: all others, and the one that is evaluated or not."""
        if self.others is None or not self.others.is_dir():
            return self.library(variant)
        others = FilesystemSource(Origin("eval", BESIDE, "others"), self.others)
        return Library([*self._own(variant), others], environment=self.environment)

    def _own(self, variant: Variant) -> list[FilesystemSource]:
        origin = Origin("eval", NAMESPACE, "skill")
        return [FilesystemSource(origin, self.skill)] if variant == "with_skill" else []


def prepare_outputs(outputs: Path, files: Path, names: tuple[str, ...]) -> list[str]:
    """Make an empty working directory with the files of a case; returns what they are called there."""
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


def skills_called(events: Sequence[Event], skills: Sequence[Skill]) -> tuple[str, ...]:
    """The names of the skills that a run made use of, the first first."""
    return tuple(dict.fromkeys(skill.name for event in events for skill in skills if uses_skill(event, skill)))


def uses_skill(event: Event, skill: Skill) -> bool:
    """Tell whether an event shows that the skill became part of the run, or that the model asked for it."""
    if event.type.startswith("skill_"):
        return not event.type.endswith(_NOT_CALLED) and _named(msgspec.to_builtins(event.payload), skill)
    if not isinstance(event.payload, ToolCallRequested):
        return False
    if "skill" in event.payload.name:
        return _named(event.payload.arguments, skill)
    # Otherwise a file of the skill is read or run.
    directory = str(skill.directory)
    values = event.payload.arguments.values() if skill.directory is not None else ()
    return any(isinstance(value, str) and directory in value for value in values)


def _named(fields: Mapping[str, Any], skill: Skill) -> bool:
    names = {skill.name, skill.mention.text, f"{skill.namespace}:{skill.name}", f"{skill.namespace}.{skill.name}"}
    return any(isinstance(value := fields.get(name), str) and value in names for name in _NAMES)
