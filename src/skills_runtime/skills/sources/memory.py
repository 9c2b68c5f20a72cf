"""Skills registered by a program."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from skills_runtime.skills.problems import Problem, failure
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.sources.source import Origin, Report
from skills_runtime.skills.standard.specification import check_fields
from skills_runtime.text import one_line, well_formed


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A registered skill; a callable body is called when it is needed."""

    skill_name: str
    description: str
    body: str | Callable[[], str]
    locator: str = ""
    required_env_vars: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}


class MemorySource:
    """Holds the registered skills of one namespace."""

    def __init__(self, origin: Origin, rows: Iterable[Row]) -> None:
        self.origin = origin
        self._rows = tuple(rows)
        self._searched: tuple[Row, ...] | None = None

    def replace(self, rows: Iterable[Row]) -> None:
        """Replace the rows; existing libraries see them after a refresh."""
        self._rows = tuple(rows)

    def has_changed(self) -> bool:
        """Return whether the rows were replaced since the last search."""
        return self._searched is not None and self._rows is not self._searched

    def skills(self) -> Report:
        """Report every valid row."""
        self._searched = self._rows
        results = [self._skill(row) for row in self._rows]
        return Report(
            tuple(result for result in results if isinstance(result, Skill)),
            tuple(result for result in results if isinstance(result, Problem)),
        )

    def body(self, skill: Skill) -> str:
        """Return the registered body of a skill."""
        row = next((row for row in self._rows if row.skill_name == skill.name), None)
        if row is None:
            raise _read_error(skill, "it is not registered any more")
        if isinstance(row.body, str):
            return well_formed(row.body)
        try:
            body: Any = row.body()
        except (OSError, ValueError, LookupError) as error:
            raise _read_error(skill, f"{type(error).__name__}: {error}") from error
        if not isinstance(body, str):
            raise _read_error(skill, f"its loader returned `{type(body).__name__}` instead of text")
        return well_formed(body)

    def _skill(self, row: Row) -> Skill | Problem:
        fields = check_fields(row.skill_name, row.description, row.metadata)
        locator = one_line(row.locator) or f"memory://{self.origin.source_id}/{one_line(row.skill_name)}"
        if isinstance(fields, Problem):
            return msgspec.structs.replace(
                fields, locator=locator, namespace=self.origin.namespace, name=row.skill_name
            )
        return Skill(
            namespace=self.origin.namespace,
            name=fields.name,
            description=fields.description,
            locator=locator,
            space_id=self.origin.space_id,
            source_id=self.origin.source_id,
            metadata=fields.metadata,
            required_env_vars=row.required_env_vars,
        )


def _read_error(skill: Skill, reason: str) -> Exception:
    return failure(
        "SKILL_BODY_READ_FAILED", f"the text of `{skill.mention.text}` cannot be had: {reason}", locator=skill.locator
    )
