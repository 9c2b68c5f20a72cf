"""The list of skills in the prompt, within a token budget: full, shortened, names only, or search.

The same skills give the same bytes in any order, so that provider prompt caches keep working. What the list leaves out
is stated in its last line and in its report. Each skill becomes one line that cannot break out of the list. Changes
during a run are announced in a later message: a mark per skill (digest of its description and file) is stored with the
run and compared.
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
"""Minimum budget, also for small context windows."""
MAX_DESCRIPTION_CHARS = 1536
"""Maximum length of a description, so that no single skill fills the list."""
MIN_DESCRIPTION_CHARS = 40
"""Shorter excerpts of a description are useless; only names are listed instead."""

_HEADING = "Available skills, each by the mention that calls it in a task or as `skill_mention` of a tool:"
_NOTE_TOKENS = 40
"""Reserved for the last line."""
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]")
_MIN_SENTENCE_SHARE = 0.6
"""Minimum share of the limit that whole sentences must fill to be preferred to whole words."""
_MIN_WORD_SHARE = 0.5
_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[^\w\s]|_+|[^\W\d_A-Za-z]+|\n")
_LETTERS_PER_TOKEN = 7
"""Letters of an English word per token."""
_DIGITS_PER_TOKEN = 3
_OTHER_SCRIPT_BYTES_PER_TOKEN = 3
"""Bytes of other scripts per token: about one Chinese character, less than two Cyrillic ones."""


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens in a text; estimates are additive."""
    count = 0
    for piece in _PIECE.findall(text):
        if not piece.isascii():
            count += -(-len(piece.encode(errors="replace")) // _OTHER_SCRIPT_BYTES_PER_TOKEN)
        else:
            count += -(-len(piece) // (_LETTERS_PER_TOKEN if piece.isalpha() else _DIGITS_PER_TOKEN))
    return count


class CatalogEntry(msgspec.Struct, frozen=True):
    """What the list can say about one skill."""

    mention: str
    text: str
    """Its full description, including when to use it."""
    short: str = ""
    """Its own short description, used when the full one does not fit."""

    def line(self, limit: int) -> str:
        """Return the line with at most `limit` characters of description, or only the name."""
        if limit <= 0 or not self.text:
            return f"- {self.mention}"
        description = self.text if len(self.text) <= limit else shorten(self.short or self.text, limit)
        return f"- {self.mention}: {escape_attribute(description)}"

    def is_shortened(self, limit: int) -> bool:
        """Return whether the line leaves out part of the description."""
        return len(self.text) > limit


def build_entries(skills: Sequence[Skill]) -> list[CatalogEntry]:
    """Build the entries of the skills that a model may call, sorted by mention."""
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
    """Cut a text at a sentence end if that nearly fills the limit, else at a word with an ellipsis."""
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
    """What a list contains and what it leaves out."""

    level: Level
    offered: int
    """Skills in the list."""
    shortened: int = 0
    """Skills in the list with a shortened description."""
    omitted: int = 0
    """Skills left out because they do not fit."""
    hidden: int = 0
    """Skills that only users may call."""
    tokens: int = 0
    budget_tokens: int = 0
    reason: str = ""
    """One sentence on what is left out and why; empty if nothing is."""


class Catalog(msgspec.Struct, frozen=True):
    """The list as text, with its report and entries."""

    text: str
    report: CatalogReport
    entries: tuple[CatalogEntry, ...]

    @property
    def digest(self) -> str:
        """Return the digest of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def compute_budget(
    window_tokens: int | None = None, *, share: float = DEFAULT_SHARE, max_tokens: int | None = None
) -> int:
    """Return the token budget of the list: the fixed maximum if set, else a share of the context window."""
    return (
        max_tokens
        if max_tokens is not None
        else max(FLOOR_TOKENS, int((window_tokens or DEFAULT_WINDOW_TOKENS) * share))
    )


def build_catalog(skills: Sequence[Skill], *, budget_tokens: int | None = None, search_tool: str = "") -> Catalog:
    """Build the list of these skills; if not all fit, it names the tool that finds the others."""
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
    """Build the event that records what the model was shown."""
    return SkillCatalogOffered(digest=catalog.digest, **msgspec.structs.asdict(catalog.report))


def _description_limit(entries: Sequence[CatalogEntry], budget: int) -> int:
    """Return the longest common description length that fits, or 0 if only names do."""

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
    """A list of skills; an unchanged list stays the same object."""

    def list(self) -> tuple[Skill, ...]:
        """Return every available skill."""
        ...


class SkillMarks(msgspec.Struct, frozen=True):
    """The marks of the skills that a model may call."""

    skills: tuple[Skill, ...]
    """The list they were computed from."""
    data: bytes
    """The marks by mention, as stored."""
    digest: str
    """The SHA-256 of `data`."""


MARK_CHARS = 16
"""Length of a mark, and of the digest prefix stored with it."""
MAX_DELTA_TOKENS = 1000

_DELTA_DESCRIPTION_CHARS = 400
_CHANGED_HEADING = "The available skills have changed:"
_MARKS = msgspec.json.Decoder(dict[str, str])
_marks_cache: WeakKeyDictionary[SkillLister, SkillMarks] = WeakKeyDictionary()
"""Cached marks per library: they are needed in every turn, and computing them for many skills is slow."""


def compute_mark(entry: CatalogEntry) -> str:
    """Return a digest that changes whenever the description of a skill does."""
    text = f"{entry.text}\0{entry.short}".encode(errors="replace")
    return hashlib.blake2b(text, digest_size=MARK_CHARS // 2).hexdigest()


def compute_marks(library: SkillLister, entries: Sequence[CatalogEntry] | None = None) -> SkillMarks:
    """Compute the marks of a library as it is now; pass `entries` if they have been built already."""
    skills = library.list()
    cached = _marks_cache.get(library)
    if cached is not None and cached.skills is skills:
        return cached
    # `zip` relies on the library listing its skills in the order of their entries.
    pairs = zip(filter(model_may_call, skills), build_entries(skills) if entries is None else entries, strict=True)
    data = msgspec.json.encode(
        {entry.mention: compute_mark(entry) + skill.content_hash[:MARK_CHARS] for skill, entry in pairs}
    )
    _marks_cache[library] = marks = SkillMarks(skills, data, hashlib.sha256(data).hexdigest())
    return marks


def is_same_file(mark: str, skill: Skill) -> bool:
    """Return whether the file of a skill is unchanged since its mark was stored."""
    return bool(mark) and mark[MARK_CHARS:] == skill.content_hash[:MARK_CHARS]


def decode_marks(data: bytes) -> Mapping[str, str]:
    """Decode stored marks by mention; raises `msgspec.MsgspecError` for anything else."""
    return _MARKS.decode(data)


class CatalogDelta(msgspec.Struct, frozen=True):
    """The skills that were added, changed or removed."""

    added: tuple[CatalogEntry, ...] = ()
    changed: tuple[CatalogEntry, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    def text(self, *, max_tokens: int = MAX_DELTA_TOKENS) -> str:
        """Render one line per skill, with shorter descriptions if there are many, and only counts as a last resort."""
        for limit in (_DELTA_DESCRIPTION_CHARS, 80, 0):
            lines = [
                *(f"{entry.line(limit)} (new)" for entry in self.added),
                *(f"{entry.line(limit)} (changed)" for entry in self.changed),
                *(f"- {mention} (no longer available)" for mention in self.removed),
            ]
            if sum(estimate_tokens(line) + 1 for line in lines) + estimate_tokens(_CHANGED_HEADING) <= max_tokens:
                return "\n".join([_CHANGED_HEADING, *lines])
        counts = f"{len(self.added)} new, {len(self.changed)} changed, {len(self.removed)} removed"
        return f"{_CHANGED_HEADING} {counts}. A mention of a removed skill is an error."


def compute_delta(previous: Mapping[str, str], entries: Sequence[CatalogEntry]) -> CatalogDelta:
    """Compare stored marks with the current entries; only a skill's own text counts, not how it was cut."""
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
