"""Rank skills by the words they share with a task, without a model, using an index built once for many tasks.

Pure, except that a library reads bodies. A search visits only skills that share a term with the task. Every word of the
task becomes a concept: the word itself, synonyms and related words, the English translation of a Chinese word, and, for
a word that no skill has, similarly spelled words. A skill scores once per concept, by its best word.

Effect of each part, measured on 233 tasks for 343 public skills (right skill first / among the first five, percent):
plain BM25 over name and description 60/79; fields, stems, abbreviations and compounds 81/90; synonyms, related words,
similar spellings, coverage and adjacent words 82/93; the beginning of bodies as well 87/97.
"""

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import msgspec

from skills_runtime.skills.library import Library
from skills_runtime.skills.problems import SkillError
from skills_runtime.skills.routing.terms import (
    RELATIVES,
    SYNONYMS,
    extract_terms,
    original_spellings,
    term,
    translate_terms,
)
from skills_runtime.skills.skill import Skill, model_may_call

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MIN_TRIGGER_CHARS = 2
MAX_TRIGGERS = 100
"""Maximum number of triggers, and of globs, per skill."""
MAX_PATHS = 200

_SEPARATORS = re.compile(r"[,，;；\n](?![^{}\n]{0,200}\})")
"""Separates triggers or globs; a comma in braces is part of a glob."""
_TOKEN = re.compile(r"[^\s\"'`<>()\[\]{},;，。；：、（）]+")
_PATH = re.compile(r"[\w@+./-]*[\w@+-]\.[A-Za-z][A-Za-z0-9]{0,9}")
_MAX_PATH_CHARS = 300


class FileMatch(msgspec.Struct, frozen=True):
    """A file, and the glob of the skill that matches it."""

    path: str
    glob: str


class Declarations(msgspec.Struct, frozen=True, kw_only=True):
    """When skills apply, according to their front matter; skills are identified by their index."""

    hidden: frozenset[int]
    """Skills that the model may not call."""
    triggers: dict[int, tuple[str, ...]]
    globs: dict[int, tuple[str, ...]]


def collect_declarations(skills: Sequence[Skill]) -> Declarations:
    """Collect the declarations of these skills."""
    declaring = [(position, skill) for position, skill in enumerate(skills) if skill.metadata]
    triggers = ((position, _read_list(skill, "triggers", "trigger")) for position, skill in declaring)
    globs = ((position, _read_list(skill, "paths", "globs")) for position, skill in declaring)
    return Declarations(
        hidden=frozenset(position for position, skill in declaring if not model_may_call(skill)),
        triggers={position: values for position, values in triggers if values},
        globs={position: values for position, values in globs if values},
    )


def find_trigger(task: str, triggers: Sequence[str]) -> str:
    """Return the longest trigger that occurs in the task, or an empty text."""
    text = task.casefold()
    present: list[str] = []
    for trigger in triggers:
        folded = trigger.casefold()
        if len(trigger) < MIN_TRIGGER_CHARS or folded not in text:
            continue
        # Match whole words only; scripts without spaces have no word boundaries.
        start = "(?<![a-z0-9_])" if folded[0].isascii() and folded[0].isalnum() else ""
        end = "(?![a-z0-9_])" if folded[-1].isascii() and folded[-1].isalnum() else ""
        if re.search(f"{start}{re.escape(folded)}{end}", text):
            present.append(trigger)
    return max(present, key=len, default="")


def find_file_match(paths: Sequence[str], globs: Sequence[str]) -> FileMatch | None:
    """Return the first path that a glob matches."""
    for path in paths[:MAX_PATHS]:
        for glob in globs:
            if _spec(glob).match_file(path.removeprefix("./").lstrip("/")):
                return FileMatch(path, glob)
    return None


def find_paths(task: str) -> list[str]:
    """Return the words of a task that look like file names."""
    tokens = (token.rstrip(".:!?") for token in _TOKEN.findall(task) if "." in token and len(token) <= _MAX_PATH_CHARS)
    return list(dict.fromkeys(token for token in tokens if _PATH.fullmatch(token)))[:MAX_PATHS]


def _read_list(skill: Skill, *fields: str) -> tuple[str, ...]:
    pieces = (
        piece.strip().strip("\"'") for text in read_texts(skill.metadata, *fields) for piece in _SEPARATORS.split(text)
    )
    return tuple(dict.fromkeys(piece for piece in pieces if piece))[:MAX_TRIGGERS]


@lru_cache(maxsize=4096)
def _spec(glob: str) -> "GitIgnoreSpec":
    """Compile a glob like a line of `.gitignore`, with the first pair of braces expanded."""
    from pathspec import GitIgnoreSpec  # slow to import, and few skills have globs

    braces = re.search(r"\{([^{}]*)\}", glob)
    if braces is None:
        return GitIgnoreSpec.from_lines([glob])
    head, tail = glob[: braces.start()], glob[braces.end() :]
    return GitIgnoreSpec.from_lines([head + choice.strip() + tail for choice in braces[1].split(",")[:50]])


_NOT_FOR = re.compile(
    r"\b(?:do not|don'?t|does not|never|not|avoid)\s+"
    r"(?:use|using|trigger|activate|invoke|apply|for|when|intended|suitable|meant|to be used)\b[^.;!?\n。；！]*"
    r"|\b(?:distinct from|unlike|as opposed to|rather than|instead of|excluding|except for)\b[^.;!?\n,]*"
    r"|(?:不适用于|不要用于|不用于|请勿用于|不适合)[^。；！\n]*",
    re.IGNORECASE,
)

_ELSEWHERE = re.compile(
    r"\bfor\s[^.;\n]{3,160}?,?\s(?:see|use)\s(?:the\s)?[`'\"$]?[a-z0-9]+(?:-[a-z0-9]+)+[^.;\n]*", re.IGNORECASE
)
_OTHER_SKILL = re.compile(r"\b(?:see|use) (?:the )?[`'\"$]?[a-z0-9]+-[a-z0-9]", re.IGNORECASE)

_SIGNS = (
    *("not ", "n't ", "dont ", "never ", "avoid ", "distinct from", "unlike ", "as opposed", "rather than"),
    *("instead of", "excluding ", "except for", " see ", ", use ", "不", "勿"),
)
"""A description without any of these excludes nothing."""


class Clauses(msgspec.Struct, frozen=True):
    """A description, split."""

    included: str
    excluded: str


def split_clauses(description: str) -> Clauses:
    """Split a description into what it includes and what it excludes."""
    small = description.lower()
    if not any(sign in small for sign in _SIGNS):
        return Clauses(description, "")
    patterns = (_ELSEWHERE, _NOT_FOR) if _OTHER_SKILL.search(description) else (_NOT_FOR,)
    excluded: list[str] = []
    for pattern in patterns:
        excluded += pattern.findall(description)
        description = pattern.sub(" ", description)
    return Clauses(description, " ".join(excluded))


BODY_CHARS = 8000
"""How much of a body is indexed."""
FIELD_CHARS = 4000
"""How much of a description, and of the extra fields, is indexed."""
BODY_TERMS = 160
"""How many different terms of a body are indexed: the most frequent ones."""
EXTRA_FIELDS = ("when_to_use", "short-description", "triggers", "keywords", "tags", "category")
"""Front matter fields that say more about the purpose of a skill."""


class Document(msgspec.Struct, frozen=True, array_like=True):
    """The terms of one skill, by field."""

    name: tuple[str, ...]
    description: tuple[str, ...]
    extra: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    """Terms of tasks that the skill excludes."""
    body: tuple[str, ...] = ()


def build_document(skill: Skill, body: str = "") -> Document:
    """Build the document of a skill; the body is optional."""
    clauses = split_clauses(skill.description[:FIELD_CHARS])
    extra = " . ".join(read_texts(skill.metadata, *EXTRA_FIELDS))[:FIELD_CHARS]
    body_terms = extract_terms(body[:BODY_CHARS])
    frequent = {word for word, _ in Counter(body_terms).most_common(BODY_TERMS)}
    return Document(
        name=tuple(extract_terms(skill.name)),
        description=(*extract_terms(clauses.included), *translate_terms(clauses.included)),
        extra=(*extract_terms(extra), *translate_terms(extra)),
        excluded=tuple(extract_terms(clauses.excluded)),
        body=tuple(word for word in body_terms if word in frequent),
    )


def read_texts(metadata: Mapping[str, Any], *fields: str) -> list[str]:
    """Return the texts of these fields, from the top level and from `metadata`, given as a text or a list."""
    inner = metadata.get("metadata")
    mappings = [metadata, cast("Mapping[str, Any]", inner)] if isinstance(inner, Mapping) else [metadata]
    values: list[Any] = []
    for mapping in mappings:
        for field in fields:
            value = mapping.get(field)
            values += cast("list[Any]", value) if isinstance(value, list | tuple) else [value]
    return [text for text in values if isinstance(text, str)]


Body = Callable[[Skill], str]
"""Returns the body of a skill, or an empty text."""


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """Weights of fields and matches; the defaults were validated on skills not used for tuning."""

    name: float = 2.0
    description: float = 1.0
    extra: float = 1.0
    body: float = 0.12
    saturation: float = 1.2
    """How soon repetitions of a term stop counting."""
    name_length: float = 0.3
    text_length: float = 0.6
    """Length normalization, from 0 to 1."""
    synonym: float = 0.7
    """Weight of a synonym, relative to the word itself."""
    related: float = 0.35
    """Weight of a related word, relative to the word itself."""
    translated: float = 0.8
    fuzzy: float = 0.5
    """Weight of a similarly spelled word."""
    coverage: float = 0.5
    """Bonus for the share of the task that a skill covers."""
    name_coverage: float = 0.3
    """Bonus for the share of its name that the task contains."""
    phrase: float = 0.25
    """Bonus for two adjacent words of the task that are adjacent in the skill too."""
    excluded: float = 0.6
    """Penalty for a word that the skill excludes."""


class Postings(msgspec.Struct, frozen=True):
    """The skills that contain a term."""

    rarity: float
    positions: list[int]
    weights: list[float]
    """From 0 to 1, for each position."""


class SkillIndex:
    """Skills and their terms, ready to be searched."""

    def __init__(self, skills: Sequence[Skill], documents: Sequence[Document], tuning: Tuning | None = None) -> None:
        self.skills = tuple(skills)
        self.documents = tuple(documents)
        self.tuning = tuning or Tuning()
        self.postings = _build_postings(self.documents, self.tuning)

    def rarity(self, term: str) -> float:
        """Return the inverse document frequency of a term; an unknown one counts as if one skill had it."""
        postings = self.postings.get(term)
        return postings.rarity if postings is not None else _rarity(1, len(self.skills))

    @cached_property
    def declarations(self) -> Declarations:
        """Return the declarations of the skills."""
        return collect_declarations(self.skills)

    @cached_property
    def grams(self) -> dict[str, list[str]]:
        """Return the terms by trigram; computed when the first unknown word is looked up."""
        by_gram: dict[str, list[str]] = {}
        for posting in self.postings:
            if len(posting) >= 4 and posting.isascii():
                for gram in grams_of(posting):
                    by_gram.setdefault(gram, []).append(posting)
        return by_gram


def index_skills(
    skills: Sequence[Skill],
    *,
    body: Body | None = None,
    tuning: Tuning | None = None,
) -> SkillIndex:
    """Index these skills; with bodies, more tasks match."""
    return SkillIndex(skills, [build_document(skill, body(skill) if body else "") for skill in skills], tuning)


def grams_of(term: str) -> set[str]:
    """Return the trigrams of a term, with its start marked."""
    marked = f"^{term}"
    return {marked[start : start + 3] for start in range(len(marked) - 2)}


def _rarity(having: int, of: int) -> float:
    return math.log(1 + (of - having + 0.5) / (having + 0.5))


def _build_postings(documents: Sequence[Document], tuning: Tuning) -> dict[str, Postings]:
    """Compute BM25F weights: each field is normalized by its own average length before they are added."""
    fields = (
        ([document.name for document in documents], tuning.name, tuning.name_length),
        ([document.description for document in documents], tuning.description, tuning.text_length),
        ([document.extra for document in documents], tuning.extra, tuning.text_length),
        ([document.body for document in documents], tuning.body, tuning.text_length),
    )
    columns = [
        (texts, weight, 1 - length, length / max(1.0, sum(map(len, texts)) / max(1, len(texts))))
        for texts, weight, length in fields
        if weight and any(texts)
    ]
    positions: dict[str, list[int]] = {}
    weights: dict[str, list[float]] = {}
    for position in range(len(documents)):
        counted: dict[str, float] = {}
        for texts, weight, fixed, by_length in columns:
            terms = texts[position]
            step = weight / (fixed + by_length * len(terms))
            for word in terms:
                counted[word] = counted.get(word, 0.0) + step
        for word, amount in counted.items():
            if word not in positions:
                positions[word], weights[word] = [], []
            positions[word].append(position)
            weights[word].append(amount / (amount + tuning.saturation))
    return {
        word: Postings(_rarity(len(indexes), len(documents)), indexes, weights[word])
        for word, indexes in positions.items()
    }


# With more skills than this, bodies are not indexed: reading them all would take seconds.
MAX_BODIES = 1000


def body_reader(library: Library) -> Body:
    """Return a reader of a library's bodies; an unreadable body is empty, since the other fields still count."""

    def read(skill: Skill) -> str:
        try:
            return library.body(skill)
        except SkillError:
            return ""

    return read


def index_library(library: Library, *, max_bodies: int = MAX_BODIES) -> SkillIndex:
    """Index a library."""
    skills = library.list()
    return index_skills(skills, body=body_reader(library) if len(skills) <= max_bodies else None)


MAX_COMPARED = 60
"""How many of the best skills are compared in detail."""
MAX_TERMS = 200
"""Maximum number of different terms of a task."""
_MIN_SIMILARITY = 0.7
_COMMON, _COMMON_SHARE = 50, 0.1
_MIN_FUZZY_CHARS = 5


class RankedSkill(msgspec.Struct, frozen=True):
    """A skill by its index, with its score and the reason."""

    position: int
    score: float
    """From 0 to about 1: how much of the task it covers."""
    words: tuple[str, ...]
    """The matching words of the task, the most significant first."""


class _Concept(msgspec.Struct, frozen=True):
    term: str
    spellings: dict[str, float]
    """Indexed terms that stand for it, with their weights."""


def rank_skills(
    index: SkillIndex, task: str, *, limit: int, without: frozenset[int] = frozenset()
) -> list[RankedSkill]:
    """Return the best skills for a task, best first; skills that share nothing with it are left out."""
    task_terms = extract_terms(task)[: MAX_TERMS * 4]
    concepts = _build_concepts(index, task_terms, task)
    amounts, answered, total = _sum_matches(index, concepts)
    for position in without:
        amounts.pop(position, None)
    closest = heapq.nsmallest(max(MAX_COMPARED, limit), amounts, key=lambda position: (-amounts[position], position))
    close = _PairwiseScorer(index, task_terms, concepts)
    scores = {
        position: close.score(position, amounts[position], answered[position] / total) / total for position in closest
    }
    matching = [position for position in closest if scores[position] > 0]
    best = sorted(matching, key=lambda position: (-scores[position], index.skills[position].mention))[:limit]
    originals = original_spellings(task)
    return [
        RankedSkill(position, round(scores[position], 4), _matching_words(index, concepts, position, originals))
        for position in best
    ]


def _build_concepts(index: SkillIndex, task_terms: Sequence[str], task: str) -> list[_Concept]:
    tuning = index.tuning
    unique_terms = dict.fromkeys(task_terms)
    unique_terms |= dict.fromkeys(
        first + second for first, second in pairwise(task_terms) if first + second in index.postings
    )
    concepts = [_build_concept(index, text) for text in list(unique_terms)[:MAX_TERMS]]
    concepts += [
        _build_concept(index, translation, tuning.translated)
        for translation in dict.fromkeys(translate_terms(task))
        if translation not in unique_terms
    ]
    return [concept for concept in concepts if any(word in index.postings for word in concept.spellings)]


def _build_concept(index: SkillIndex, query: str, weight: float = 1.0) -> _Concept:
    tuning, postings = index.tuning, index.postings
    spellings = dict.fromkeys((other for other in RELATIVES.get(query, ()) if other in postings), tuning.related)
    spellings |= dict.fromkeys((other for other in SYNONYMS.get(query, ()) if other in postings), tuning.synonym)
    if query in postings:
        spellings[query] = 1.0
    elif tuning.fuzzy and len(query) >= _MIN_FUZZY_CHARS and query.isascii():
        spellings |= {other: tuning.fuzzy * alike for other, alike in _look_alikes(index, query)}
    return _Concept(query, {word: weight * counts for word, counts in spellings.items() if counts})


def _look_alikes(index: SkillIndex, query: str) -> Iterable[tuple[str, float]]:
    """Return two words written as one, else the terms that share most trigrams."""
    for split in range(3, len(query) - 2):
        halves = (term(query[:split]), term(query[split:]))
        if all(half in index.postings for half in halves):
            return [(half, 1.0) for half in halves]
    grams = grams_of(query)
    shared: dict[str, int] = {}
    for gram in grams:
        for other in index.grams.get(gram, ()):
            shared[other] = shared.get(other, 0) + 1
    near: list[tuple[float, str]] = []
    for other, count in shared.items():
        alike = 2 * count / (len(grams) + len(other) - 1)
        begins = other.startswith(query) or (len(other) >= _MIN_FUZZY_CHARS and query.startswith(other))
        near.append((max(alike, 0.75) if begins else alike, other))
    return [(other, alike) for alike, other in heapq.nlargest(3, near) if alike >= _MIN_SIMILARITY]


def _sum_matches(index: SkillIndex, concepts: Sequence[_Concept]) -> tuple[dict[int, float], dict[int, float], float]:
    """Return per skill its score and the covered weight of the task, and the total weight of the task."""
    amounts: dict[int, float] = {}
    answered: dict[int, float] = {}
    total = 0.0
    common = max(_COMMON, len(index.skills) * _COMMON_SHARE)
    for concept in concepts:
        indexed = [(word, weight) for word, weight in concept.spellings.items() if word in index.postings]
        # A synonym counts only if it is rare enough to distinguish skills.
        rare = [
            (word, weight) for word, weight in indexed if weight == 1 or len(index.postings[word].positions) <= common
        ]
        weighted = [(index.postings[word].rarity * weight, word) for word, weight in rare or indexed]
        total += max(weighted)[0]
        best, importance = _best_matches(index, weighted)
        for position, amount in best.items():
            amounts[position] = amounts.get(position, 0.0) + amount
            answered[position] = answered.get(position, 0.0) + importance[position]
    return amounts, answered, total or 1.0


def _best_matches(index: SkillIndex, weighted: list[tuple[float, str]]) -> tuple[dict[int, float], dict[int, float]]:
    """Return per skill its best score among several terms, and the weight of that term."""
    (first, word), *remaining = sorted(weighted, reverse=True)
    postings = index.postings[word]
    best = {position: weight * first for position, weight in zip(postings.positions, postings.weights, strict=True)}
    importance = dict.fromkeys(postings.positions, first)
    for term_importance, word in remaining:
        postings = index.postings[word]
        for position, weight in zip(postings.positions, postings.weights, strict=True):
            if weight * term_importance > best.get(position, 0.0):
                best[position], importance[position] = weight * term_importance, term_importance
    return best, importance


class _PairwiseScorer:
    """Scores single skills by features that the index does not have."""

    def __init__(self, index: SkillIndex, task_terms: Sequence[str], concepts: Sequence[_Concept]) -> None:
        self._index = index
        self._task_terms = frozenset(task_terms)
        self._pairs = frozenset(pairwise(task_terms))
        self._weights: dict[str, float] = {}
        for concept in concepts:
            for word, weight in concept.spellings.items():
                self._weights[word] = max(weight, self._weights.get(word, 0.0))

    def score(self, position: int, amount: float, answered: float) -> float:
        """Adjust a score by coverage, name, adjacent words and exclusions."""
        index, document = self._index, self._index.documents[position]
        tuning = index.tuning
        amount *= 1 + tuning.coverage * answered
        names = set(document.name)
        if names:
            name_match = sum(index.rarity(word) * self._weights.get(word, 0.0) for word in names)
            amount *= 1 + tuning.name_coverage * name_match / sum(index.rarity(word) for word in names)
        shared_pairs = self._pairs & {*pairwise(document.description), *pairwise(document.name)}
        amount += tuning.phrase * sum(index.rarity(first) + index.rarity(second) for first, second in shared_pairs) / 2
        included = {*document.name, *document.description, *document.extra} if document.excluded else set[str]()
        ruled_out = (set(document.excluded) - included) & self._task_terms
        return amount - tuning.excluded * sum(index.rarity(word) for word in ruled_out)


def _matching_words(
    index: SkillIndex, concepts: Sequence[_Concept], position: int, originals: Mapping[str, str]
) -> tuple[str, ...]:
    document = index.documents[position]
    document_terms = {*document.name, *document.description, *document.extra, *document.body}
    matches = [
        (index.rarity(concept.term), concept.term)
        for concept in concepts
        if document_terms.intersection(concept.spellings)
    ]
    return tuple(
        dict.fromkeys(originals.get(match, match) for _, match in sorted(matches, key=lambda pair: (-pair[0], pair[1])))
    )
