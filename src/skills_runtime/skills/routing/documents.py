"""What is compared of a skill: the terms of its name, of what it says of itself, and of the beginning of its body.

Pure. A value of this kind depends on one skill alone, so it can be kept beside the skill and used again.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from skills_runtime.skills.routing.clauses import clauses_of
from skills_runtime.skills.routing.words import terms, translated
from skills_runtime.skills.skill import Skill

BODY_CHARS = 8000
"""How much of a body is looked at."""
FIELD_CHARS = 4000
"""How much of a description, and of the fields beside it, is looked at."""
BODY_TERMS = 160
"""How many different terms of a body count: those it uses most."""
EXTRA_FIELDS = ("when_to_use", "short-description", "triggers", "keywords", "tags", "category")
"""Fields of the front matter that say more about what a skill is for."""


class Document(msgspec.Struct, frozen=True, array_like=True):
    """The terms of one skill, by where they stand."""

    name: tuple[str, ...]
    description: tuple[str, ...]
    extra: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    """Terms of tasks that the skill says it is not for."""
    body: tuple[str, ...] = ()


def document_of(skill: Skill, body: str = "") -> Document:
    """The terms of a skill; its body may be left out."""
    clauses = clauses_of(skill.description[:FIELD_CHARS])
    extra = " . ".join(texts_in(skill.metadata, *EXTRA_FIELDS))[:FIELD_CHARS]
    return Document(
        name=tuple(terms(skill.name)),
        description=(*terms(clauses.meant), *translated(clauses.meant)),
        extra=(*terms(extra), *translated(extra)),
        excluded=tuple(terms(clauses.excluded)),
        body=_most_used(terms(body[:BODY_CHARS])) if body else (),
    )


def texts_in(metadata: Mapping[str, Any], *fields: str) -> list[str]:
    """The texts of some fields, whether they stand at the top or below `metadata`, as text or as a list."""
    inner = metadata.get("metadata")
    places = [metadata, cast("Mapping[str, Any]", inner)] if isinstance(inner, Mapping) else [metadata]
    return [text for place in places for field in fields for text in _texts(place.get(field))]


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [one for one in cast("list[Any]", value) if isinstance(one, str)] if isinstance(value, list | tuple) else []


def _most_used(words: list[str]) -> tuple[str, ...]:
    counted = Counter(words)
    if len(counted) <= BODY_TERMS:
        return tuple(words)
    kept = {word for word, _ in counted.most_common(BODY_TERMS)}
    return tuple(word for word in words if word in kept)
