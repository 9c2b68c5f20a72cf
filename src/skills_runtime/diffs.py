"""Two texts compared line by line, in time that no text can make long.

Pure. The shortest difference is looked for where that takes few steps. In longer texts, lines that are there once on
either side are found first, and only what lies between them is compared; what would still take too many steps goes and
comes anew as a whole. The difference is right in every case, and short where the texts let it be.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher

CONTEXT = 3
"""Lines that are shown around a change."""
MAX_STEPS = 5_000_000
FREQUENT = 100
"""Of texts that are longer than twice this, difflib does not look for lines that are more than one in so many."""


def unified(
    old: Sequence[str],
    new: Sequence[str],
    names: tuple[str, str],
    *,
    context: int = CONTEXT,
    end: str = "\n",
    max_steps: int = MAX_STEPS,
) -> Iterator[str]:
    """The difference in the form people know, one line at a time; nothing where there is none.

    `end` is what the lines end in.
    """
    comparison = _Comparison(old, new, max_steps)
    comparison.look(range(len(old)), range(len(new)))
    groups = list(comparison.get_grouped_opcodes(context))
    if groups:
        yield f"--- {names[0]}{end}"
        yield f"+++ {names[1]}{end}"
    for group in groups:
        here, there = range(group[0][1], group[-1][2]), range(group[0][3], group[-1][4])
        yield f"@@ -{_place(here)} +{_place(there)} @@{end}"
        for kind, i, i_end, j, j_end in group:
            if kind == "equal":
                yield from (f" {line}" for line in old[i:i_end])
            else:
                yield from (f"-{line}" for line in old[i:i_end])
                yield from (f"+{line}" for line in new[j:j_end])


class _Comparison(SequenceMatcher[str]):
    """What two texts have in common, as far as the steps allow to find out."""

    def __init__(self, old: Sequence[str], new: Sequence[str], steps: int) -> None:
        super().__init__(None, "", "")
        self._old = old
        self._new = new
        self._steps = steps
        self._found: list[Match] = []

    def get_matching_blocks(self) -> list[Match]:
        """The lines that stay, run by run."""
        return [*self._found, Match(len(self._old), len(self._new), 0)]

    def look(self, old: range, new: range, *, divided: bool = False) -> None:
        """Find what these lines have in common."""
        above = _alike(self._old, self._new, zip(old, new, strict=False))
        old, new = old[above:], new[above:]
        below = _alike(self._old, self._new, zip(reversed(old), reversed(new), strict=False))
        self._keep(old.start - above, new.start - above, above)
        self._look_between(old[: len(old) - below], new[: len(new) - below], divided=divided)
        self._keep(old.stop - below, new.stop - below, below)

    def _look_between(self, old: range, new: range, *, divided: bool) -> None:
        here, there = self._old[old.start : old.stop], self._new[new.start : new.stop]
        steps = _pairs(here, there) * min(len(here), len(there))
        if 0 < steps <= self._steps:
            self._steps -= steps
            for i, j, size in SequenceMatcher(None, here, there).get_matching_blocks():
                self._keep(old.start + i, new.start + j, size)
        elif steps and not divided:
            i_done, j_done = old.start, new.start
            for i, j in [*_anchors(here, there), (len(old), len(new))]:
                self.look(range(i_done, old.start + i), range(j_done, new.start + j), divided=True)
                self._keep(old.start + i, new.start + j, int(i < len(old)))
                i_done, j_done = old.start + i + 1, new.start + j + 1

    def _keep(self, i: int, j: int, size: int) -> None:
        last = self._found[-1] if self._found else Match(0, 0, 0)
        if size and (last.a + last.size, last.b + last.size) == (i, j) and self._found:
            self._found[-1] = Match(last.a, last.b, last.size + size)
        elif size:
            self._found.append(Match(i, j, size))


def _alike(old: Sequence[str], new: Sequence[str], places: "zip[tuple[int, int]]") -> int:
    count = 0
    for i, j in places:
        if old[i] != new[j]:
            break
        count += 1
    return count


def _pairs(old: Sequence[str], new: Sequence[str]) -> int:
    """How many pairs of equal lines difflib would look at."""
    there = Counter(new)
    most = len(new) // FREQUENT + 1 if len(new) >= 2 * FREQUENT else len(new)
    return sum(there[line] for line in old if there[line] <= most)


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The most lines in the same order that each side has once, by their places."""
    once = {line for line, count in Counter(old).items() if count == 1}
    places = {line: j for j, line in enumerate(new) if line in once}
    often = {line for line, count in Counter(new).items() if count > 1}
    pairs = [(i, places[line]) for i, line in enumerate(old) if line in places and line not in often]
    return _rising(pairs)


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """As many of the pairs as can be that rise in both numbers; they come in the order of the first."""
    lowest: list[int] = []
    tails: list[int] = []
    before: list[int] = []
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(lowest, j)
        before.append(tails[length - 1] if length else -1)
        lowest[length : length + 1] = [j]
        tails[length : length + 1] = [number]
    chosen: list[tuple[int, int]] = []
    number = tails[-1] if tails else -1
    while number >= 0:
        chosen.append(pairs[number])
        number = before[number]
    return chosen[::-1]


def _place(lines: range) -> str:
    if len(lines) == 1:
        return str(lines.start + 1)
    return f"{lines.start + bool(lines)},{len(lines)}"
