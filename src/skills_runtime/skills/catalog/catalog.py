"""The list of skills for the model, within a number of tokens: in full, shortened, by name, or as something to search.

Pure. The same skills give the same bytes in whatever order they are found, so a provider's cache keeps working; and
what the list does not say is always told, in its last line and in its report.
"""

import hashlib
from collections.abc import Sequence
from typing import Literal

import msgspec

from skills_runtime.events.payloads import SkillCatalogOffered
from skills_runtime.skills.catalog.entries import MAX_DESCRIPTION_CHARS, Entry, entries_of, tokens_of
from skills_runtime.skills.skill import Skill

Level = Literal["full", "shortened", "names", "search"]

DEFAULT_WINDOW_TOKENS = 128_000
DEFAULT_SHARE = 0.02
FLOOR_TOKENS = 1000
"""Less than this is no list; a small window still gets it."""
MIN_DESCRIPTION_CHARS = 40
"""A shorter beginning of a description says nothing; names alone take less room."""

_HEADING = "Available skills, each by the mention that calls it in a task or as `skill_mention` of a tool:"
_NOTE_TOKENS = 40
"""More than the last line ever has."""


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
    entries: tuple[Entry, ...]

    @property
    def digest(self) -> str:
        """What changes whenever the text does."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def budget_for(
    window_tokens: int = DEFAULT_WINDOW_TOKENS, *, share: float = DEFAULT_SHARE, max_tokens: int | None = None
) -> int:
    """How many tokens the list may have in a window: a fixed number if there is one, else a share of the window."""
    return max_tokens if max_tokens is not None else max(FLOOR_TOKENS, int(window_tokens * share))


def catalog_of(skills: Sequence[Skill], *, budget_tokens: int | None = None, search_tool: str = "") -> Catalog:
    """The list of these skills; the name of a tool that finds the others is told where they do not fit."""
    entries = entries_of(skills)
    budget = budget_for() if budget_tokens is None else budget_tokens
    hidden = len(skills) - len(entries)
    if not entries:
        report = CatalogReport(level="full", offered=0, hidden=hidden, budget_tokens=budget)
        return Catalog("", report, ())
    limit = _limit(entries, budget)
    lines = [entry.line(limit) for entry in entries]
    lines = lines if limit else _fitting(lines, budget)
    omitted = len(entries) - len(lines)
    shortened = sum(entry.is_shortened(limit) for entry in entries[: len(lines)])
    level: Level = "search" if omitted else "full" if not shortened else "shortened" if limit else "names"
    text = "\n".join([_HEADING, *lines, *_note(level, limit, omitted, search_tool)])
    report = CatalogReport(
        level=level,
        offered=len(lines),
        shortened=shortened,
        omitted=omitted,
        hidden=hidden,
        tokens=tokens_of(text),
        budget_tokens=budget,
        reason=_reason(level, limit, omitted),
    )
    return Catalog(text, report, tuple(entries))


def listed(skills: Sequence[Skill], *, budget_tokens: int | None = None) -> str:
    """The list alone, or nothing when there are no skills to tell of."""
    return catalog_of(skills, budget_tokens=budget_tokens).text


def catalog_offered(catalog: Catalog) -> SkillCatalogOffered:
    """The event that tells what a model was told."""
    report = catalog.report
    return SkillCatalogOffered(digest=catalog.digest, **msgspec.structs.asdict(report))


def _limit(entries: Sequence[Entry], budget: int) -> int:
    """The longest descriptions that fit, the same for all; 0 when only names may."""

    def fits(limit: int) -> bool:
        room = budget - tokens_of(_HEADING)
        complete = True
        for entry in entries:
            room -= tokens_of(entry.line(limit)) + 1
            complete = complete and not entry.is_shortened(limit)
            if room < (0 if complete else _NOTE_TOKENS):
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


def _fitting(lines: Sequence[str], budget: int) -> list[str]:
    room = budget - tokens_of(_HEADING) - _NOTE_TOKENS
    kept: list[str] = []
    for line in lines:
        room -= tokens_of(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept


def _note(level: Level, limit: int, omitted: int, search_tool: str) -> list[str]:
    if level == "full":
        return []
    if level == "shortened":
        return [f"(Descriptions are cut to {limit} characters.)"]
    if level == "names":
        return ["(Descriptions are left out for space.)"]
    if search_tool:
        return [f"({omitted} more skills are not listed; find them with the tool `{search_tool}`.)"]
    return [f"({omitted} more skills do not fit into this list.)"]


def _reason(level: Level, limit: int, omitted: int) -> str:
    said = {
        "full": "",
        "shortened": f"descriptions were cut to {limit} characters",
        "names": "descriptions were left out",
        "search": f"descriptions were left out, and {omitted} skills are not in the list",
    }[level]
    return f"{said}, because the list of skills has a limit of tokens: see `skills.catalog`" if said else ""
