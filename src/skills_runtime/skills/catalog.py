"""The list of skills for the model, within a number of tokens: in full, shortened, by name, or as something to search.

The same skills give the same bytes in whatever order they are found, so a provider's cache keeps working; and what the
list does not say is always told, in its last line and in its report. What a skill says becomes one line that can
neither begin nor end anything around it. What changes during a run is told in a text that is added later: a mark of
each skill is kept with the run, made of what it said of itself and the digest of its file.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol
from weakref import WeakKeyDictionary

import msgspec

from skills_runtime.events import SkillCatalogOffered
from skills_runtime.skills.skill import Skill, model_may_call, text_field
from skills_runtime.text import escape_attribute, one_line

Level = Literal["full", "shortened", "names", "search"]

DEFAULT_WINDOW_TOKENS = 128_000
DEFAULT_SHARE = 0.02
FLOOR_TOKENS = 1000
"""Less than this is no list; a small window still gets it."""
MAX_DESCRIPTION_CHARS = 1536
"""The longest description that is ever shown; one skill must not fill the list alone."""
MIN_DESCRIPTION_CHARS = 40
"""A shorter beginning of a description says nothing; names alone take less room."""

_HEADING = "Available skills, each by the mention that calls it in a task or as `skill_mention` of a tool:"
_NOTE_TOKENS = 40
"""More than the last line ever has."""
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]")
_MIN_SENTENCE_SHARE = 0.6
"""How much of the room a whole sentence has to fill to be preferred to a few more words."""
_MIN_WORD_SHARE = 0.5
_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[^\w\s]|_+|[^\W\d_A-Za-z]+|\n")
_LETTERS_PER_TOKEN = 7
"""How many letters of an English word make one token."""
_DIGITS_PER_TOKEN = 3
_OTHER_SCRIPT_BYTES_PER_TOKEN = 3
"""How many bytes of other scripts make one token: about one character of Chinese, less than two of Cyrillic."""


def estimate_tokens(text: str) -> int:
    """About how many tokens the text has; of two texts together it is the sum."""
    count = 0
    for piece in _PIECE.findall(text):
        if not piece.isascii():
            count += -(-len(piece.encode(errors="replace")) // _OTHER_SCRIPT_BYTES_PER_TOKEN)
        else:
            count += -(-len(piece) // (_LETTERS_PER_TOKEN if piece.isalpha() else _DIGITS_PER_TOKEN))
    return count


class CatalogEntry(msgspec.Struct, frozen=True):
    """What the list can say of one skill."""

    mention: str
    text: str
    """All it says about what it does and when to use it."""
    short: str = ""
    """Its own short form, used where there is no room for everything."""

    def line(self, limit: int) -> str:
        """The line with at most so many characters of description; without any it is the name alone."""
        if limit <= 0 or not self.text:
            return f"- {self.mention}"
        description = self.text if len(self.text) <= limit else shorten(self.short or self.text, limit)
        return f"- {self.mention}: {escape_attribute(description)}"

    def is_shortened(self, limit: int) -> bool:
        """Whether the line says less than the skill does."""
        return len(self.text) > limit


def build_entries(skills: Sequence[Skill]) -> list[CatalogEntry]:
    """The skills that a model may be told of, in the order of their mentions, whatever order they come in."""
    entries: list[CatalogEntry] = []
    for skill in sorted(filter(model_may_call, skills), key=lambda skill: (skill.namespace, skill.name)):
        text = one_line(skill.description)
        when = one_line(text_field(skill, "when_to_use") or text_field(skill, "when-to-use"))
        if when and when not in text:
            text = f"{text} Use when: {when}"
        short = one_line(text_field(skill, "short-description") or text_field(skill, "short_description"))
        entries.append(CatalogEntry(escape_attribute(skill.mention.text), text, short))
    return entries


def shorten(text: str, limit: int) -> str:
    """The beginning of a text: whole sentences if they nearly fill the room, else whole words and a mark."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    ends = [match.end() for match in _SENTENCE_END.finditer(text[:limit])]
    if ends and ends[-1] >= limit * _MIN_SENTENCE_SHARE:
        return text[: ends[-1]]
    space = head.rfind(" ")
    broken = text[limit - 1] != " " and space >= limit * _MIN_WORD_SHARE
    return (head[:space] if broken else head).rstrip(" ,;:-") + "…"


class CatalogReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a list says, and what it does not."""

    level: Level
    offered: int
    """Skills that are in the list."""
    shortened: int = 0
    """Skills in it that say less than they would."""
    omitted: int = 0
    """Skills that are not in it for want of room."""
    hidden: int = 0
    """Skills that only people may call."""
    tokens: int = 0
    budget_tokens: int = 0
    reason: str = ""
    """One sentence on what is missing and why; nothing when nothing is."""


class Catalog(msgspec.Struct, frozen=True):
    """The list as text, and what is to be known of it."""

    text: str
    report: CatalogReport
    entries: tuple[CatalogEntry, ...]

    @property
    def digest(self) -> str:
        """What changes whenever the text does."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def compute_budget(
    window_tokens: int = DEFAULT_WINDOW_TOKENS, *, share: float = DEFAULT_SHARE, max_tokens: int | None = None
) -> int:
    """How many tokens the list may have in a window: a fixed number if there is one, else a share of the window."""
    return max_tokens if max_tokens is not None else max(FLOOR_TOKENS, int(window_tokens * share))


def build_catalog(skills: Sequence[Skill], *, budget_tokens: int | None = None, search_tool: str = "") -> Catalog:
    """The list of these skills; the name of a tool that finds the others is told where they do not fit."""
    entries = build_entries(skills)
    budget = compute_budget() if budget_tokens is None else budget_tokens
    hidden = len(skills) - len(entries)
    if not entries:
        report = CatalogReport(level="full", offered=0, hidden=hidden, budget_tokens=budget)
        return Catalog("", report, ())
    limit = _description_limit(entries, budget)
    lines = [entry.line(limit) for entry in entries]
    if not limit:
        remaining = budget - estimate_tokens(_HEADING) - _NOTE_TOKENS
        for number, line in enumerate(lines):
            remaining -= estimate_tokens(line) + 1
            if remaining < 0:
                lines = lines[:number]
                break
    omitted = len(entries) - len(lines)
    shortened = sum(entry.is_shortened(limit) for entry in entries[: len(lines)])
    level: Level = "search" if omitted else "full" if not shortened else "shortened" if limit else "names"
    omitted_note = (
        f"are not listed; find them with the tool `{search_tool}`" if search_tool else "do not fit into this list"
    )
    note, reason = {
        "full": ("", ""),
        "shortened": (f"Descriptions are cut to {limit} characters.", f"descriptions were cut to {limit} characters"),
        "names": ("Descriptions are left out for space.", "descriptions were left out"),
        "search": (
            f"{omitted} more skills {omitted_note}.",
            f"descriptions were left out, and {omitted} skills are not in the list",
        ),
    }[level]
    text = "\n".join([_HEADING, *lines, *([f"({note})"] if note else [])])
    report = CatalogReport(
        level=level,
        offered=len(lines),
        shortened=shortened,
        omitted=omitted,
        hidden=hidden,
        tokens=estimate_tokens(text),
        budget_tokens=budget,
        reason=f"{reason}, because the list of skills has a limit of tokens: see `skills.catalog`" if reason else "",
    )
    return Catalog(text, report, tuple(entries))


def build_catalog_event(catalog: Catalog) -> SkillCatalogOffered:
    """The event that tells what a model was told."""
    return SkillCatalogOffered(digest=catalog.digest, **msgspec.structs.asdict(catalog.report))


def _description_limit(entries: Sequence[CatalogEntry], budget: int) -> int:
    """The longest descriptions that fit, the same for all; 0 when only names may."""

    def fits(limit: int) -> bool:
        remaining = budget - estimate_tokens(_HEADING)
        complete = True
        for entry in entries:
            remaining -= estimate_tokens(entry.line(limit)) + 1
            complete = complete and not entry.is_shortened(limit)
            if remaining < (0 if complete else _NOTE_TOKENS):
                return False
        return True

    longest = min(MAX_DESCRIPTION_CHARS, max(len(entry.text) for entry in entries))
    if fits(longest):
        return max(longest, 1)
    if longest <= MIN_DESCRIPTION_CHARS or not fits(MIN_DESCRIPTION_CHARS):
        return 0
    low, high = MIN_DESCRIPTION_CHARS, longest
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


class SkillLister(Protocol):
    """What has a list of skills; the same list stays the same value."""

    def list(self) -> tuple[Skill, ...]:
        """Every skill that is offered."""
        ...


class SkillMarks(msgspec.Struct, frozen=True):
    """The marks of the skills that a model may be told of."""

    skills: tuple[Skill, ...]
    """The list they are from."""
    data: bytes
    """The marks by mention, as they are kept."""
    digest: str
    """The SHA-256 of that."""


MARK_CHARS = 16
"""How long a mark is, and how much of a digest is kept."""
MAX_DELTA_TOKENS = 1000

_DELTA_DESCRIPTION_CHARS = 400
_CHANGED_HEADING = "The available skills have changed:"
_MARKS = msgspec.json.Decoder(dict[str, str])
_marks_cache: WeakKeyDictionary[SkillLister, SkillMarks] = WeakKeyDictionary()
"""The marks of each library, asked for in every turn; those of ten thousand skills take a while."""


def compute_mark(entry: CatalogEntry) -> str:
    """What changes whenever a skill says something else of itself."""
    text = f"{entry.text}\0{entry.short}".encode(errors="replace")
    return hashlib.blake2b(text, digest_size=MARK_CHARS // 2).hexdigest()


def compute_marks(library: SkillLister, entries: Sequence[CatalogEntry] | None = None) -> SkillMarks:
    """The marks of a library as it is now; a caller that has the entries of its list spares us to make them."""
    skills = library.list()
    cached = _marks_cache.get(library)
    if cached is not None and cached.skills is skills:
        return cached
    # A library lists its skills in the order of their entries.
    pairs = zip(filter(model_may_call, skills), build_entries(skills) if entries is None else entries, strict=True)
    data = msgspec.json.encode(
        {entry.mention: compute_mark(entry) + skill.content_hash[:MARK_CHARS] for skill, entry in pairs}
    )
    _marks_cache[library] = marks = SkillMarks(skills, data, hashlib.sha256(data).hexdigest())
    return marks


def is_same_file(mark: str, skill: Skill) -> bool:
    """Whether the file of a skill is what it was when its mark was kept."""
    return bool(mark) and mark[MARK_CHARS:] == skill.content_hash[:MARK_CHARS]


def decode_marks(data: bytes) -> Mapping[str, str]:
    """Marks that were kept, by mention; raises `msgspec.MsgspecError` for anything else."""
    return _MARKS.decode(data)


class CatalogDelta(msgspec.Struct, frozen=True):
    """The skills that came, say something else of themselves, or went."""

    added: tuple[CatalogEntry, ...] = ()
    changed: tuple[CatalogEntry, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    def text(self, *, max_tokens: int = MAX_DELTA_TOKENS) -> str:
        """A line for each of them, shorter where there are many, and at last only their numbers."""
        for limit in (_DELTA_DESCRIPTION_CHARS, 80, 0):
            lines = [
                *(f"{entry.line(limit)} (new)" for entry in self.added),
                *(f"{entry.line(limit)} (changed)" for entry in self.changed),
                *(f"- {mention} (no longer available)" for mention in self.removed),
            ]
            if sum(estimate_tokens(line) + 1 for line in lines) + estimate_tokens(_CHANGED_HEADING) <= max_tokens:
                return "\n".join([_CHANGED_HEADING, *lines])
        counts = f"{len(self.added)} are new, {len(self.changed)} say something else, {len(self.removed)} are gone"
        return f"{_CHANGED_HEADING} {counts}. A mention of one that is gone is an error."


def compute_delta(previous: Mapping[str, str], entries: Sequence[CatalogEntry]) -> CatalogDelta:
    """What is new to whoever knows the marks of an earlier list; a description that is cut elsewhere is the same."""
    current = {entry.mention for entry in entries}
    return CatalogDelta(
        added=tuple(entry for entry in entries if entry.mention not in previous),
        changed=tuple(
            entry
            for entry in entries
            if entry.mention in previous and previous[entry.mention][:MARK_CHARS] != compute_mark(entry)
        ),
        removed=tuple(mention for mention in previous if mention not in current),
    )
