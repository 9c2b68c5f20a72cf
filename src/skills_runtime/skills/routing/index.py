"""The index that tasks are compared with: what skills declare, the terms of each, and the postings of every term.

Pure but for the bodies that a library reads. Built once for a set of skills; a search then looks only at skills that
share a term with the task.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, cast

import msgspec

from skills_runtime.skills.library import Library
from skills_runtime.skills.problems import SkillError
from skills_runtime.skills.routing.words import terms, translated
from skills_runtime.skills.skill import Skill, model_may_call

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MIN_TRIGGER_CHARS = 2
MAX_TRIGGERS = 100
"""How many triggers, and how many globs, of one skill count."""
MAX_PATHS = 200

_SEPARATORS = re.compile(r"[,，;；\n](?![^{}\n]{0,200}\})")
"""What stands between two of them; a comma in braces is part of a glob."""
_TOKEN = re.compile(r"[^\s\"'`<>()\[\]{},;，。；：、（）]+")
_PATH = re.compile(r"[\w@+./-]*[\w@+-]\.[A-Za-z][A-Za-z0-9]{0,9}")
_MAX_PATH_CHARS = 300


class FileMatch(msgspec.Struct, frozen=True):
    """A file that a skill is for, and the glob that says so."""

    path: str
    glob: str


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """What skills say of when they apply; a skill is known by its place among them."""

    hidden: frozenset[int]
    """Those that the model may not call."""
    triggers: dict[int, tuple[str, ...]]
    globs: dict[int, tuple[str, ...]]


def declared_by(skills: Sequence[Skill]) -> Declared:
    """What these skills declare."""
    saying = [(place, skill) for place, skill in enumerate(skills) if skill.metadata]
    triggers = ((place, _declared(skill, "triggers", "trigger")) for place, skill in saying)
    globs = ((place, _declared(skill, "paths", "globs")) for place, skill in saying)
    return Declared(
        hidden=frozenset(place for place, skill in saying if not model_may_call(skill)),
        triggers={place: found for place, found in triggers if found},
        globs={place: found for place, found in globs if found},
    )


def trigger_in(task: str, triggers: Sequence[str]) -> str:
    """The longest of the triggers that stands in the task, or nothing."""
    small = task.casefold()
    long_enough = (one for one in triggers if len(one) >= MIN_TRIGGER_CHARS)
    present = [one for one in long_enough if one.casefold() in small and _stands_alone(one.casefold(), small)]
    return max(present, key=len, default="")


def file_match(paths: Sequence[str], globs: Sequence[str]) -> FileMatch | None:
    """The first of the files that one of the globs means."""
    for path in paths[:MAX_PATHS]:
        for glob in globs:
            if _spec(glob).match_file(path.removeprefix("./").lstrip("/")):
                return FileMatch(path, glob)
    return None


def paths_in(task: str) -> list[str]:
    """What reads like the name of a file in a task."""
    tokens = (token.rstrip(".:!?") for token in _TOKEN.findall(task) if "." in token and len(token) <= _MAX_PATH_CHARS)
    return list(dict.fromkeys(token for token in tokens if _PATH.fullmatch(token)))[:MAX_PATHS]


def _declared(skill: Skill, *fields: str) -> tuple[str, ...]:
    pieces = (
        piece.strip().strip("\"'") for text in texts_in(skill.metadata, *fields) for piece in _SEPARATORS.split(text)
    )
    return tuple(dict.fromkeys(piece for piece in pieces if piece))[:MAX_TRIGGERS]


def _stands_alone(trigger: str, text: str) -> bool:
    """Whether the trigger is there as a word of its own; scripts without spaces have no such words."""
    start = "(?<![a-z0-9_])" if trigger[0].isascii() and trigger[0].isalnum() else ""
    end = "(?![a-z0-9_])" if trigger[-1].isascii() and trigger[-1].isalnum() else ""
    return re.search(f"{start}{re.escape(trigger)}{end}", text) is not None


@lru_cache(maxsize=4096)
def _spec(glob: str) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(_braces_apart(glob))


def _braces_apart(glob: str) -> list[str]:
    """One glob for each choice in its first pair of braces, which `.gitignore` does not know."""
    match = re.search(r"\{([^{}]*)\}", glob)
    if match is None:
        return [glob]
    return [glob[: match.start()] + one.strip() + glob[match.end() :] for one in match[1].split(",")[:50]]


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
"""A description without any of these rules nothing out."""


class Clauses(msgspec.Struct, frozen=True):
    """The two halves of a description."""

    meant: str
    excluded: str


def clauses_of(description: str) -> Clauses:
    """The description without what it rules out, and what it rules out."""
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


MAX_BODIES = 1000
"""With more skills than this only what they say of themselves is looked at: reading them all would take seconds."""


def body_of(library: Library) -> Body:
    """Reads the bodies of a library; one that cannot be read is empty, for the rest of the skill still counts."""

    def read(skill: Skill) -> str:
        try:
            return library.body(skill)
        except SkillError:
            return ""

    return read


def index_for(library: Library, *, max_bodies: int = MAX_BODIES) -> SkillIndex:
    """The index over a library."""
    skills = library.list()
    return index_of(skills, body=body_of(library) if len(skills) <= max_bodies else None)
