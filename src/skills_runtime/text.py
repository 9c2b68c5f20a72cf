"""Foreign text made harmless for logs, terminals, pages and prompts; texts compared in bounded time.

Pure, and below everything else. Text comes from models, tools, skills, providers and file names: it may hold halves of
characters, escape sequences, characters that nobody sees, and tags that pass for the runtime's own.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from functools import lru_cache

TITLE_CHARS = 120
"""How long the title of a task is at most."""
TAG = "skill"
"""How the name of every tag of ours begins."""
OPENERS = "<＜﹤‹〈〈⟨❬❮❰˂ᐸ⋖⦑"
"""Characters that begin a tag, or look as if they did."""
CONTEXT = 3
"""Lines that a difference shows around a change."""
MAX_STEPS = 5_000_000
FREQUENT = 100
"""Of texts that are longer than twice this, difflib does not look for lines that are more than one in so many."""

_SPACES = re.compile(r"\s+")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_READABLE = frozenset("\n\t")
_EMOJI = r"\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u27bf\u2900-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_JOINING_LETTERS = (
    r"\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc\u06df-\u06ff\u0750-\u077f\u08a0-\u08e1\u0900-\u0dff\u1000-\u109f"
    r"\u1780-\u17b3\u17b6-\u17dd\u1820-\u18aa"
)
"""Letters of scripts that are not written without joiners: Arabic, those of India, Khmer, Burmese, Mongolian."""
_JOINER = re.compile(
    f"(?:(?<=[{_EMOJI}])|(?<=[{_EMOJI}]\ufe0f))\u200d(?=[{_EMOJI}])"
    f"|(?<=[{_JOINING_LETTERS}])[\u200c\u200d](?=[{_JOINING_LETTERS}])"
)
"""A joiner between two characters that it joins; anywhere else it only hides that two texts differ."""
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0d\U000e0100-\U000e01ef]"
    f"|(?<![{_EMOJI}])[\ufe0e\ufe0f](?!\u20e3)"
)
"""Letters and marks that nobody sees; one that chooses the look of a picture stays behind it."""
_OPENER = re.compile(f"[{OPENERS}]")
_SKIPPED_CATEGORIES = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp", "Mn", "Me", "Cn", "Co"})
_SKIPPED = frozenset("/\\⁄∕⧸⧹╱!?\u115f\u1160\u2800\u3164\uffa0")
"""Slashes of all sorts, and letters that nobody sees."""
_LOOKALIKES = str.maketrans("ѕꜱкκⲕіıιɩӏǀ|1l", "sskkkiiiiiiiii")
"""Small letters that look like one of ours; `i` and `l` are one letter here."""


def well_formed(text: str) -> str:
    """Replace what is not Unicode, so that the text can be encoded; halves of a character are joined."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def printable(text: str, *, replacement: str | None = None) -> str:
    """Escape every character that is not printable, line breaks too; or put `instead` in its place."""
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
    """Escape control, direction and other invisible characters for people; lines and tabs stay, and what joins."""
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
    """The name as a forgiving file system compares it: case and invisible characters do not count."""
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
    """Take apart every beginning of a tag like ours, however it is spelled; all other markup stays as it is."""
    return _OPENER.sub(lambda match: "&lt;" if _starts_our_tag(text, match.end()) else match[0], text)


def escape_attribute(text: str) -> str:
    """Make one line that cannot begin or end a tag, nor the value of an attribute in one."""
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
    """Whether what follows reads like the name of our tag once everything invisible is left out."""
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
    """What a character amounts to for somebody who only looks: nothing, or a few small letters."""
    if character in _SKIPPED or unicodedata.category(character) in _SKIPPED_CATEGORIES:
        return ""
    plain = unicodedata.normalize("NFKD", character).casefold().translate(_LOOKALIKES)
    return "".join(
        letter for letter in plain if letter not in _SKIPPED and unicodedata.category(letter) not in _SKIPPED_CATEGORIES
    )


class _Comparison(SequenceMatcher[str]):
    """What two texts have in common, as far as the steps allow to find out."""

    def __init__(self, old: Sequence[str], new: Sequence[str], steps: int) -> None:
        super().__init__(None, "", "")
        self._old = old
        self._new = new
        self._steps = steps
        self._matches: list[Match] = []

    def get_matching_blocks(self) -> list[Match]:
        """The lines that stay, run by run."""
        return [*self._matches, Match(len(self._old), len(self._new), 0)]

    def compare(self, old: range, new: range, *, divided: bool = False) -> None:
        """Find what these lines have in common."""
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
    """How many pairs of equal lines difflib would look at."""
    new_counts = Counter(new)
    max_count = len(new) // FREQUENT + 1 if len(new) >= 2 * FREQUENT else len(new)
    return sum(new_counts[line] for line in old if new_counts[line] <= max_count)


def _find_anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The most lines in the same order that each side has once, by their indexes."""
    unique_in_old = {line for line, count in Counter(old).items() if count == 1}
    indexes = {line: j for j, line in enumerate(new) if line in unique_in_old}
    repeated_in_new = {line for line, count in Counter(new).items() if count > 1}
    pairs = [(i, indexes[line]) for i, line in enumerate(old) if line in indexes and line not in repeated_in_new]
    return _longest_increasing(pairs)


def _longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """As many of the pairs as can be that rise in both numbers; they come in the order of the first."""
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
    """The first line of a prompt that says something, printable, and short enough for a list."""
    lines = (one_line(printable(line, replacement=" ")) for line in prompt.splitlines())
    return next((line for line in lines if line), "")[:TITLE_CHARS].rstrip()
