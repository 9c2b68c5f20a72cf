"""The inverted index over skills: for each term, the skills that have it and how much it counts in each.

Pure. Built once for a set of skills; a search then looks only at skills that share a term with the task.
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property

import msgspec

from skills_runtime.skills.routing.declared import Declared, declared_by
from skills_runtime.skills.routing.documents import Document, document_of
from skills_runtime.skills.skill import Skill

Body = Callable[[Skill], str]
"""Where the body of a skill comes from; a skill that has none gives nothing."""


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """How much each place and each kind of agreement counts; the defaults are what held up on skills not tuned on."""

    name: float = 2.0
    description: float = 1.0
    extra: float = 1.0
    body: float = 0.12
    saturation: float = 1.2
    """How soon more of the same term stops counting."""
    name_length: float = 0.3
    text_length: float = 0.6
    """How much a longer text has to say a term more often, from 0 to 1."""
    synonym: float = 0.7
    """A word that means nearly the same, against the word itself."""
    related: float = 0.35
    """A related word, against the word itself."""
    translated: float = 0.8
    fuzzy: float = 0.5
    """A word that only looks alike."""
    coverage: float = 0.5
    """The part of the task that a skill answers to."""
    name_coverage: float = 0.3
    """The part of its name that the task says."""
    phrase: float = 0.25
    """Two words side by side in the task and in the skill."""
    excluded: float = 0.6
    """A word of what the skill says it is not for."""


class Postings(msgspec.Struct, frozen=True):
    """The skills that have a term."""

    rarity: float
    places: list[int]
    weights: list[float]
    """From 0 to 1, for each of the places."""


class SkillIndex:
    """Skills and their terms, ready to be searched."""

    def __init__(self, skills: Sequence[Skill], documents: Sequence[Document], tuning: Tuning | None = None) -> None:
        self.skills = tuple(skills)
        self.documents = tuple(documents)
        self.tuning = tuning or Tuning()
        self.postings = _postings(self.documents, self.tuning)

    def rarity(self, term: str) -> float:
        """How much a term tells; one that no skill has tells as much as one that a single skill has."""
        found = self.postings.get(term)
        return found.rarity if found is not None else _rarity(1, len(self.skills))

    @cached_property
    def declared(self) -> Declared:
        """What the skills say about who may call them and when."""
        return declared_by(self.skills)

    @cached_property
    def grams(self) -> dict[str, list[str]]:
        """For each three letters, the terms that have them; made when the first unknown word is looked up."""
        found: dict[str, list[str]] = {}
        for term in self.postings:
            if len(term) >= 4 and term.isascii():
                for gram in grams_of(term):
                    found.setdefault(gram, []).append(term)
        return found


def index_of(
    skills: Sequence[Skill],
    *,
    body: Body | None = None,
    tuning: Tuning | None = None,
) -> SkillIndex:
    """The index over these skills; with bodies it finds more."""
    return SkillIndex(skills, [document_of(skill, body(skill) if body else "") for skill in skills], tuning)


def grams_of(term: str) -> set[str]:
    """The runs of three letters in a term, its beginning marked."""
    marked = f"^{term}"
    return {marked[place : place + 3] for place in range(len(marked) - 2)}


def _rarity(having: int, of: int) -> float:
    return math.log(1 + (of - having + 0.5) / (having + 0.5))


def _postings(documents: Sequence[Document], tuning: Tuning) -> dict[str, Postings]:
    """BM25 over several fields: each field is measured against its own usual length before they are added up."""
    fields = (
        ([one.name for one in documents], tuning.name, tuning.name_length),
        ([one.description for one in documents], tuning.description, tuning.text_length),
        ([one.extra for one in documents], tuning.extra, tuning.text_length),
        ([one.body for one in documents], tuning.body, tuning.text_length),
    )
    columns = [
        (texts, weight, 1 - length, length / max(1.0, sum(map(len, texts)) / max(1, len(texts))))
        for texts, weight, length in fields
        if weight and any(texts)
    ]
    places: dict[str, list[int]] = {}
    weights: dict[str, list[float]] = {}
    for place in range(len(documents)):
        counted: dict[str, float] = {}
        for texts, weight, fixed, by_length in columns:
            words = texts[place]
            step = weight / (fixed + by_length * len(words))
            for word in words:
                counted[word] = counted.get(word, 0.0) + step
        for word, amount in counted.items():
            if word not in places:
                places[word], weights[word] = [], []
            places[word].append(place)
            weights[word].append(amount / (amount + tuning.saturation))
    return {word: Postings(_rarity(len(found), len(documents)), found, weights[word]) for word, found in places.items()}
