"""Sanitize untrusted text for logs, terminals, pages and prompts; compare texts in bounded time.

Pure, and below everything else. Text comes from models, tools, skills, providers and file names: it may hold half
characters, escape sequences, invisible characters, and tags that imitate the runtime's own.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from functools import lru_cache

TITLE_CHARS = 120
"""Maximum length of a task's title."""
TAG = "skill"
"""The prefix of all our tags."""
OPENERS = "<＜﹤‹〈〈⟨❬❮❰˂ᐸ⋖⦑"
"""Characters that start a tag, or look like it."""
CONTEXT = 3
"""Context lines around a change in a diff."""
MAX_STEPS = 5_000_000
FREQUENT = 100
"""In texts longer than twice this, difflib ignores lines that make up more than one percent."""

_SPACES = re.compile(r"\s+")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_READABLE = frozenset("\n\t")
_EMOJI = r"\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u27bf\u2900-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_JOINING_LETTERS = (
    r"\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc\u06df-\u06ff\u0750-\u077f\u08a0-\u08e1\u0900-\u0dff\u1000-\u109f"
    r"\u1780-\u17b3\u17b6-\u17dd\u1820-\u18aa"
)
"""Letters of scripts that need joiners: Arabic, Indic scripts, Khmer, Burmese, Mongolian."""
_JOINER = re.compile(
    f"(?:(?<=[{_EMOJI}])|(?<=[{_EMOJI}]\ufe0f))\u200d(?=[{_EMOJI}])"
    f"|(?<=[{_JOINING_LETTERS}])[\u200c\u200d](?=[{_JOINING_LETTERS}])"
)
"""A joiner between two characters that it joins; anywhere else it only hides a difference."""
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0d\U000e0100-\U000e01ef]"
    f"|(?<![{_EMOJI}])[\ufe0e\ufe0f](?!\u20e3)"
)
"""Invisible letters and marks; a variation selector after a picture character stays."""
_OPENER = re.compile(f"[{OPENERS}]")
_SKIPPED_CATEGORIES = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp", "Mn", "Me", "Cn", "Co"})
_SKIPPED = frozenset("/\\⁄∕⧸⧹╱!?\u115f\u1160\u2800\u3164\uffa0")
"""Slashes of all kinds, and invisible letters."""
_LOOKALIKES = str.maketrans("ѕꜱкκⲕіıιɩӏǀ|1l", "sskkkiiiiiiiii")
"""Small letters that look like one of ours; `i` and `l` count as one letter."""


def well_formed(text: str) -> str:
    """Replace what is not valid Unicode, so that the text can be encoded; surrogate pairs are joined."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def printable(text: str, *, replacement: str | None = None) -> str:
    """Escape every unprintable character, including line breaks; or replace it by `replacement`."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else _escape(character) if replacement is None else replacement
        for character in text
    )


def one_line(text: str, *, limit: int | None = None) -> str:
    """Put the text on one printable line, spaces collapsed, cut to `limit` characters with an ellipsis."""
    if not text.isprintable() or "  " in text:
        text = _SPACES.sub(" ", text)
    line = printable(text.strip())
    return line if limit is None or len(line) <= limit else f"{line[: limit - 1]}…"


def readable(text: str) -> str:
    """Escape control, direction and other invisible characters for users; line breaks, tabs and joiners stay."""
    if text.isprintable() and (text.isascii() or not _BLANK.search(text)):
        return text
    text = text.replace("\r\n", "\n")
    joiners = {match.start() for match in _JOINER.finditer(text)}
    blanks = {match.start() for match in _BLANK.finditer(text)}
    return "".join(
        _escape(character)
        if index in blanks
        or (
            character not in _READABLE
            and index not in joiners
            and unicodedata.category(character) in _HIDDEN_CATEGORIES
        )
        else character
        for index, character in enumerate(text)
    )


def readable_line(text: str) -> str:
    """Put the readable text on one line."""
    return " ".join(readable(text).split())


@lru_cache(maxsize=4096)
def fold_name(name: str) -> str:
    """Return the name as a case-insensitive file system compares it, without invisible characters."""
    if name.isascii():
        return name.lower()
    plain = unicodedata.normalize("NFKC", name).casefold()
    return "".join(character for character in plain if unicodedata.category(character) != "Cf")


def escape_controls(text: str) -> str:
    """Escape control characters and surrogates only, so that a name stays on its line and readable."""
    if text.isprintable():
        return text
    return "".join(
        (f"\\x{ord(character):02x}" if ord(character) <= 0xFF else f"\\u{ord(character):04x}")
        if unicodedata.category(character) in ("Cc", "Cs")
        else character
        for character in text
    )


def escape_tags(text: str) -> str:
    """Escape every start of a tag like ours, in any spelling; all other markup stays as it is."""
    return _OPENER.sub(lambda match: "&lt;" if _starts_our_tag(text, match.end()) else match[0], text)


def escape_attribute(text: str) -> str:
    """Return one line that cannot start or end a tag or an attribute value."""
    escaped = one_line(text).replace("&", "&amp;").replace('"', "&quot;").replace(">", "&gt;")
    return _OPENER.sub("&lt;", escaped)


def unified_diff(
    old: Sequence[str],
    new: Sequence[str],
    names: tuple[str, str],
    *,
    context: int = CONTEXT,
    end: str = "\n",
    max_steps: int = MAX_STEPS,
) -> Iterator[str]:
    """Compare two texts line by line and yield a unified diff, nothing where they are equal, in bounded time.

    The shortest difference is looked for where that takes few steps. In longer texts, lines that are there once on
    either side are found first, and only what lies between them is compared; what would still take too many steps goes
    and comes anew as a whole. The difference is right in every case. `end` is what the lines end in.
    """
    comparison = _Comparison(old, new, max_steps)
    comparison.compare(range(len(old)), range(len(new)))
    groups = list(comparison.get_grouped_opcodes(context))
    if groups:
        yield f"--- {names[0]}{end}"
        yield f"+++ {names[1]}{end}"
    for group in groups:
        old_range, new_range = range(group[0][1], group[-1][2]), range(group[0][3], group[-1][4])
        yield f"@@ -{_line_range(old_range)} +{_line_range(new_range)} @@{end}"
        for kind, i, i_end, j, j_end in group:
            if kind == "equal":
                yield from (f" {line}" for line in old[i:i_end])
            else:
                yield from (f"-{line}" for line in old[i:i_end])
                yield from (f"+{line}" for line in new[j:j_end])


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _starts_our_tag(text: str, start: int) -> bool:
    """Return whether the text continues with the name of our tag, ignoring invisible characters."""
    remaining = TAG.translate(_LOOKALIKES)
    for index in range(start, len(text)):
        for letter in _fold_lookalike(text[index]):
            if not remaining.startswith(letter):
                return False
            remaining = remaining[1:]
            if not remaining:
                return True
    return False


def _fold_lookalike(character: str) -> str:
    """Return what a character looks like: nothing, or a few small letters."""
    if character in _SKIPPED or unicodedata.category(character) in _SKIPPED_CATEGORIES:
        return ""
    plain = unicodedata.normalize("NFKD", character).casefold().translate(_LOOKALIKES)
    return "".join(
        letter for letter in plain if letter not in _SKIPPED and unicodedata.category(letter) not in _SKIPPED_CATEGORIES
    )


class _Comparison(SequenceMatcher[str]):
    """The common lines of two texts, found in a bounded number of steps."""

    def __init__(self, old: Sequence[str], new: Sequence[str], steps: int) -> None:
        super().__init__(None, "", "")
        self._old = old
        self._new = new
        self._steps = steps
        self._matches: list[Match] = []

    def get_matching_blocks(self) -> list[Match]:
        """Return the unchanged lines, run by run."""
        return [*self._matches, Match(len(self._old), len(self._new), 0)]

    def compare(self, old: range, new: range, *, divided: bool = False) -> None:
        """Find the common lines of these ranges."""
        equal_at_start = self._count_equal(zip(old, new, strict=False))
        old, new = old[equal_at_start:], new[equal_at_start:]
        equal_at_end = self._count_equal(zip(reversed(old), reversed(new), strict=False))
        self._add(old.start - equal_at_start, new.start - equal_at_start, equal_at_start)
        self._compare_between(old[: len(old) - equal_at_end], new[: len(new) - equal_at_end], divided=divided)
        self._add(old.stop - equal_at_end, new.stop - equal_at_end, equal_at_end)

    def _compare_between(self, old: range, new: range, *, divided: bool) -> None:
        old_lines, new_lines = self._old[old.start : old.stop], self._new[new.start : new.stop]
        steps = _count_equal_pairs(old_lines, new_lines) * min(len(old_lines), len(new_lines))
        if 0 < steps <= self._steps:
            self._steps -= steps
            for i, j, size in SequenceMatcher(None, old_lines, new_lines).get_matching_blocks():
                self._add(old.start + i, new.start + j, size)
        elif steps and not divided:
            next_i, next_j = old.start, new.start
            for i, j in [*_find_anchors(old_lines, new_lines), (len(old), len(new))]:
                self.compare(range(next_i, old.start + i), range(next_j, new.start + j), divided=True)
                self._add(old.start + i, new.start + j, int(i < len(old)))
                next_i, next_j = old.start + i + 1, new.start + j + 1

    def _count_equal(self, pairs: "zip[tuple[int, int]]") -> int:
        count = 0
        for i, j in pairs:
            if self._old[i] != self._new[j]:
                break
            count += 1
        return count

    def _add(self, i: int, j: int, size: int) -> None:
        last = self._matches[-1] if self._matches else Match(0, 0, 0)
        if size and (last.a + last.size, last.b + last.size) == (i, j) and self._matches:
            self._matches[-1] = Match(last.a, last.b, last.size + size)
        elif size:
            self._matches.append(Match(i, j, size))


def _count_equal_pairs(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the number of pairs of equal lines that difflib would compare."""
    new_counts = Counter(new)
    max_count = len(new) // FREQUENT + 1 if len(new) >= 2 * FREQUENT else len(new)
    return sum(new_counts[line] for line in old if new_counts[line] <= max_count)


def _find_anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the longest common sequence of lines that are unique on each side, by their indexes."""
    unique_in_old = {line for line, count in Counter(old).items() if count == 1}
    indexes = {line: j for j, line in enumerate(new) if line in unique_in_old}
    repeated_in_new = {line for line, count in Counter(new).items() if count > 1}
    pairs = [(i, indexes[line]) for i, line in enumerate(old) if line in indexes and line not in repeated_in_new]
    return _longest_increasing(pairs)


def _longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest sequence of pairs that increases in both numbers; they are sorted by the first."""
    lowest: list[int] = []
    tails: list[int] = []
    predecessors: list[int] = []
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(lowest, j)
        predecessors.append(tails[length - 1] if length else -1)
        lowest[length : length + 1] = [j]
        tails[length : length + 1] = [number]
    chosen: list[tuple[int, int]] = []
    number = tails[-1] if tails else -1
    while number >= 0:
        chosen.append(pairs[number])
        number = predecessors[number]
    return chosen[::-1]


def _line_range(lines: range) -> str:
    if len(lines) == 1:
        return str(lines.start + 1)
    return f"{lines.start + bool(lines)},{len(lines)}"


def make_title(prompt: str) -> str:
    """Return the first non-empty line of a prompt, printable and short enough for a list."""
    lines = (one_line(printable(line, replacement=" ")) for line in prompt.splitlines())
    return next((line for line in lines if line), "")[:TITLE_CHARS].rstrip()
