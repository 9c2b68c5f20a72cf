"""Ranks skills by the words they share with a task, without a model.

Pure. Every word of the task becomes a concept: the word itself, words that often stand for it, what a Chinese word is
in English, and, for a word no skill knows, words that look alike. A skill counts once per concept, by its best word.

What each part brings, measured on 233 tasks for 343 public skills (right skill first / among the first five, percent):
plain BM25 over name and description 60/79; fields, stems, abbreviations and compounds 81/90; synonyms, related words,
look-alikes, coverage and neighbours 82/93; the beginning of bodies as well 87/97.
"""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec

from skills_runtime.skills.routing.index import Document, SkillIndex, grams_of
from skills_runtime.skills.routing.words import RELATIVES, SYNONYMS, spelled, term, terms, translated

LOOKED_AT = 60
"""How many of the best are compared closely."""
MAX_TERMS = 200
"""How many different words of a task count."""
_ALIKE = 0.7
_COMMON, _COMMON_SHARE = 50, 0.1
_MIN_FUZZY_CHARS = 5


class Ranked(msgspec.Struct, frozen=True):
    """A skill by its place in the index, and why it is there."""

    place: int
    score: float
    """From 0 to about 1: how much of the task it answers."""
    words: tuple[str, ...]
    """The words of the task that it answers to, the most telling first."""


class _Concept(msgspec.Struct, frozen=True):
    term: str
    spellings: dict[str, float]
    """Terms of the index that stand for it, and how much each counts."""


def ranked(index: SkillIndex, task: str, *, limit: int, without: frozenset[int] = frozenset()) -> list[Ranked]:
    """The best skills for a task, best first; those that share nothing with it are not there."""
    said = terms(task)[: MAX_TERMS * 4]
    concepts = _concepts(index, said, task)
    amounts, answered, whole = _sums(index, concepts)
    for place in without:
        amounts.pop(place, None)
    closest = heapq.nsmallest(max(LOOKED_AT, limit), amounts, key=lambda place: (-amounts[place], place))
    close = _Closely(index, said, concepts)
    scores = {place: close.score(place, amounts[place], answered[place] / whole) / whole for place in closest}
    found = [place for place in closest if scores[place] > 0]
    best = sorted(found, key=lambda place: (-scores[place], index.skills[place].mention))[:limit]
    shown = spelled(task)
    return [Ranked(place, round(scores[place], 4), _words(index, concepts, place, shown)) for place in best]


def _concepts(index: SkillIndex, said: Sequence[str], task: str) -> list[_Concept]:
    tuning = index.tuning
    wanted = dict.fromkeys(said)
    wanted |= dict.fromkeys(one + other for one, other in pairwise(said) if one + other in index.postings)
    found = [_concept(index, one) for one in list(wanted)[:MAX_TERMS]]
    found += [_concept(index, one, tuning.translated) for one in dict.fromkeys(translated(task)) if one not in wanted]
    return [one for one in found if any(word in index.postings for word in one.spellings)]


def _concept(index: SkillIndex, one: str, weight: float = 1.0) -> _Concept:
    tuning, postings = index.tuning, index.postings
    spellings = dict.fromkeys((other for other in RELATIVES.get(one, ()) if other in postings), tuning.related)
    spellings |= dict.fromkeys((other for other in SYNONYMS.get(one, ()) if other in postings), tuning.synonym)
    if one in postings:
        spellings[one] = 1.0
    elif tuning.fuzzy and len(one) >= _MIN_FUZZY_CHARS and one.isascii():
        spellings |= {other: tuning.fuzzy * alike for other, alike in _look_alikes(index, one)}
    return _Concept(one, {word: weight * counts for word, counts in spellings.items() if counts})


def _look_alikes(index: SkillIndex, one: str) -> Iterable[tuple[str, float]]:
    """Two words written as one, else the terms that share most of their letters."""
    for place in range(3, len(one) - 2):
        halves = (term(one[:place]), term(one[place:]))
        if all(half in index.postings for half in halves):
            return [(half, 1.0) for half in halves]
    grams = grams_of(one)
    shared: dict[str, int] = {}
    for gram in grams:
        for other in index.grams.get(gram, ()):
            shared[other] = shared.get(other, 0) + 1
    near = [(_likeness(one, other, count, len(grams)), other) for other, count in shared.items()]
    return [(other, alike) for alike, other in heapq.nlargest(3, near) if alike >= _ALIKE]


def _likeness(one: str, other: str, shared: int, grams: int) -> float:
    begins = other.startswith(one) or (len(other) >= _MIN_FUZZY_CHARS and one.startswith(other))
    alike = 2 * shared / (grams + len(other) - 1)
    return max(alike, 0.75) if begins else alike


def _sums(index: SkillIndex, concepts: Sequence[_Concept]) -> tuple[dict[int, float], dict[int, float], float]:
    """For each skill what its words amount to and how much of the task they answer; and how much the task asks."""
    amounts: dict[int, float] = {}
    answered: dict[int, float] = {}
    whole = 0.0
    for concept in concepts:
        telling = [(index.postings[word].rarity * weight, word) for word, weight in _known(index, concept)]
        whole += max(telling)[0]
        best, tells = _best(index, telling)
        for place, amount in best.items():
            amounts[place] = amounts.get(place, 0.0) + amount
            answered[place] = answered.get(place, 0.0) + tells[place]
    return amounts, answered, whole or 1.0


def _best(index: SkillIndex, telling: list[tuple[float, str]]) -> tuple[dict[int, float], dict[int, float]]:
    """For each skill the most that one of several words amounts to in it, and how much that word tells."""
    (first, word), *others = sorted(telling, reverse=True)
    found = index.postings[word]
    best = {place: weight * first for place, weight in zip(found.places, found.weights, strict=True)}
    tells = dict.fromkeys(found.places, first)
    for each, word in others:
        found = index.postings[word]
        for place, weight in zip(found.places, found.weights, strict=True):
            if weight * each > best.get(place, 0.0):
                best[place], tells[place] = weight * each, each
    return best, tells


def _known(index: SkillIndex, concept: _Concept) -> list[tuple[str, float]]:
    """The spellings that some skill has; one that merely stands for the word must be rare enough to tell anything."""
    common = max(_COMMON, len(index.skills) * _COMMON_SHARE)
    known = [(word, weight) for word, weight in concept.spellings.items() if word in index.postings]
    return [
        (word, weight) for word, weight in known if weight == 1 or len(index.postings[word].places) <= common
    ] or known


class _Closely:
    """Compares single skills with a task in ways that an index cannot."""

    def __init__(self, index: SkillIndex, said: Sequence[str], concepts: Sequence[_Concept]) -> None:
        self._index = index
        self._said = frozenset(said)
        self._pairs = frozenset(pairwise(said))
        self._weights: dict[str, float] = {}
        for concept in concepts:
            for word, weight in concept.spellings.items():
                self._weights[word] = max(weight, self._weights.get(word, 0.0))

    def score(self, place: int, amount: float, answered: float) -> float:
        """The amount with what else speaks for and against the skill."""
        index, document = self._index, self._index.documents[place]
        tuning = index.tuning
        amount *= 1 + tuning.coverage * answered
        names = set(document.name)
        if names:
            said = sum(index.rarity(word) * self._weights.get(word, 0.0) for word in names)
            amount *= 1 + tuning.name_coverage * said / sum(index.rarity(word) for word in names)
        together = self._pairs & {*pairwise(document.description), *pairwise(document.name)}
        amount += tuning.phrase * sum(index.rarity(one) + index.rarity(other) for one, other in together) / 2
        return amount - tuning.excluded * sum(index.rarity(word) for word in self._ruled_out(document))

    def _ruled_out(self, document: Document) -> set[str]:
        if not document.excluded:
            return set()
        meant = {*document.name, *document.description, *document.extra}
        return (set(document.excluded) - meant) & self._said


def _words(index: SkillIndex, concepts: Sequence[_Concept], place: int, shown: Mapping[str, str]) -> tuple[str, ...]:
    document = index.documents[place]
    has = {*document.name, *document.description, *document.extra, *document.body}
    found = [(index.rarity(one.term), one.term) for one in concepts if has.intersection(one.spellings)]
    return tuple(dict.fromkeys(shown.get(one, one) for _, one in sorted(found, key=lambda pair: (-pair[0], pair[1]))))
