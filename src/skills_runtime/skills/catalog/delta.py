"""What changed between two lists of skills, as text to be added later instead of a new beginning of the prompt.

Pure. Only what skills say of themselves counts: a description that is cut elsewhere has not changed.
"""

from skills_runtime.skills.catalog.catalog import Catalog
from skills_runtime.skills.catalog.entries import Entry
from skills_runtime.skills.catalog.tokens import tokens_of

MAX_TOKENS = 1000
SHOWN_CHARS = 400

_HEADING = "The available skills have changed:"


def catalog_delta(before: Catalog, after: Catalog, *, max_tokens: int = MAX_TOKENS) -> str:
    """The lines for skills that came, changed or went; nothing when none did."""
    old = {entry.mention: entry for entry in before.entries}
    new = {entry.mention: entry for entry in after.entries}
    came = [entry for mention, entry in new.items() if mention not in old]
    changed = [entry for mention, entry in new.items() if mention in old and old[mention] != entry]
    gone = [mention for mention in old if mention not in new]
    if not (came or changed or gone):
        return ""
    for limit in (SHOWN_CHARS, 80, 0):
        lines = _lines(came, changed, gone, limit)
        if sum(tokens_of(line) + 1 for line in lines) + tokens_of(_HEADING) <= max_tokens:
            return "\n".join([_HEADING, *lines])
    counts = f"{len(came)} are new, {len(changed)} say something else, {len(gone)} are gone"
    return f"{_HEADING} {counts}. A mention of one that is gone is an error."


def _lines(came: list[Entry], changed: list[Entry], gone: list[str], limit: int) -> list[str]:
    return [
        *(f"{entry.line(limit)} (new)" for entry in came),
        *(f"{entry.line(limit)} (changed)" for entry in changed),
        *(f"- {mention} (no longer available)" for mention in gone),
    ]
