"""What changed since a model was told of skills, as text to be added later instead of a new beginning of the prompt.

Pure. A mark of each skill is kept with the run: what it said of itself, and the digest of its file. A description that
is cut elsewhere has not changed.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol
from weakref import WeakKeyDictionary

import msgspec

from skills_runtime.skills.catalog.entries import Entry, entries_of, model_may_call, tokens_of
from skills_runtime.skills.skill import Skill


class Listing(Protocol):
    """What has a list of skills; the same list stays the same value."""

    def list(self) -> tuple[Skill, ...]:
        """Every skill that is offered."""
        ...


class Marks(msgspec.Struct, frozen=True):
    """The marks of the skills that a model may be told of."""

    skills: tuple[Skill, ...]
    """The list they are from."""
    data: bytes
    """The marks by mention, as they are kept."""
    digest: str
    """The SHA-256 of that."""


_kept: WeakKeyDictionary[Listing, Marks] = WeakKeyDictionary()
"""The marks of each library; those of ten thousand skills take a while."""

CHARS = 16
"""How long a mark is, and how much of a digest is kept."""

_decoder = msgspec.json.Decoder(dict[str, str])


def mark_of(entry: Entry) -> str:
    """What changes whenever a skill says something else of itself."""
    return hashlib.blake2b(f"{entry.text}\0{entry.short}".encode(errors="replace"), digest_size=CHARS // 2).hexdigest()


def marks_in(library: Listing, entries: Sequence[Entry] | None = None) -> Marks:
    """The marks of a library as it is now; whoever has the entries of its list spares us to make them."""
    skills = library.list()
    kept = _kept.get(library)
    if kept is not None and kept.skills is skills:
        return kept
    data = packed(skills, entries_of(skills) if entries is None else entries)
    _kept[library] = found = Marks(skills, data, hashlib.sha256(data).hexdigest())
    return found


def packed(skills: Sequence[Skill], entries: Sequence[Entry]) -> bytes:
    """Marks as they are kept; the skills have the order of a library, which is that of their entries."""
    told = (skill for skill in skills if model_may_call(skill))
    pairs = zip(told, entries, strict=True)
    return msgspec.json.encode({entry.mention: mark_of(entry) + skill.content_hash[:CHARS] for skill, entry in pairs})


def says_the_same(known: str, entry: Entry) -> bool:
    """Whether a skill says of itself what it said when its mark was kept."""
    return known[:CHARS] == mark_of(entry)


def is_the_same(known: str, skill: Skill) -> bool:
    """Whether the file of a skill is what it was when its mark was kept."""
    return bool(known) and known[CHARS:] == skill.content_hash[:CHARS]


def unpacked(data: bytes) -> Mapping[str, str]:
    """Marks that were kept; raises `msgspec.MsgspecError` for anything else."""
    return _decoder.decode(data)


MAX_TOKENS = 1000
SHOWN_CHARS = 400

_HEADING = "The available skills have changed:"


class Delta(msgspec.Struct, frozen=True):
    """The skills that came, say something else of themselves, or went."""

    came: tuple[Entry, ...] = ()
    changed: tuple[Entry, ...] = ()
    gone: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.came or self.changed or self.gone)

    def text(self, *, max_tokens: int = MAX_TOKENS) -> str:
        """A line for each of them, shorter where there are many, and at last only their numbers."""
        for limit in (SHOWN_CHARS, 80, 0):
            lines = self._lines(limit)
            if sum(tokens_of(line) + 1 for line in lines) + tokens_of(_HEADING) <= max_tokens:
                return "\n".join([_HEADING, *lines])
        counts = f"{len(self.came)} are new, {len(self.changed)} say something else, {len(self.gone)} are gone"
        return f"{_HEADING} {counts}. A mention of one that is gone is an error."

    def _lines(self, limit: int) -> list[str]:
        return [
            *(f"{entry.line(limit)} (new)" for entry in self.came),
            *(f"{entry.line(limit)} (changed)" for entry in self.changed),
            *(f"- {mention} (no longer available)" for mention in self.gone),
        ]


def delta_since(known: Mapping[str, str], entries: Sequence[Entry]) -> Delta:
    """What is new to whoever knows the marks of an earlier list."""
    now = {entry.mention for entry in entries}
    return Delta(
        came=tuple(entry for entry in entries if entry.mention not in known),
        changed=tuple(one for one in entries if one.mention in known and not says_the_same(known[one.mention], one)),
        gone=tuple(mention for mention in known if mention not in now),
    )
