"""What changed between two lists of skills, as text to be added later instead of a new beginning of the prompt.

Pure. Only what skills say of themselves counts: a description that is cut elsewhere has not changed.
"""

from collections.abc import Mapping, Sequence

import msgspec

from skills_runtime.skills.catalog.entries import Entry
from skills_runtime.skills.catalog.marks import says_the_same
from skills_runtime.skills.catalog.tokens import tokens_of

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
