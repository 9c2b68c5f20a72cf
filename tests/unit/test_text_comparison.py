"""What differs between two texts: right for every two, and never long in coming."""

import difflib
import re
import time
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.text import CONTEXT, unified_diff

NAMES = ("a/x", "b/x")
texts = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=30)


def applied(old: list[str], lines: list[str]) -> list[str]:
    """What the difference makes of the old lines, by its own numbers."""
    out: list[str] = []
    done = 0
    for line in lines[2:]:
        header = re.match(r"@@ -(\d+)(?:,(\d+))? ", line)
        if header:
            start = int(header[1]) - (header[2] != "0")
            out += old[done:start]
            done = start
        elif line[0] == "+":
            out.append(line[1:])
        else:
            assert old[done] == line[1:]
            out += [line[1:]] if line[0] == " " else []
            done += 1
    return out + old[done:]


@given(texts, texts)
def test_a_difference_leads_from_the_one_text_to_the_other(old: list[str], new: list[str]) -> None:
    lines = list(unified_diff(old, new, NAMES))
    assert (applied(old, lines) if lines else old) == new


@given(texts, texts, texts)
def test_what_is_the_same_around_a_change_does_not_change_its_numbers(
    same: list[str], old: list[str], new: list[str]
) -> None:
    around, under = ["above\n", *same], [*same, "below\n"]
    before, after = [*around, *old, *under], [*around, *new, *under]
    lines = list(unified_diff(before, after, NAMES))
    assert (applied(before, lines) if lines else before) == after


@given(texts, texts)
def test_also_where_the_shortest_difference_is_not_looked_for(old: list[str], new: list[str]) -> None:
    lines = list(unified_diff(old, new, NAMES, max_steps=0))
    if old != new:
        assert applied(old, lines) == new


def test_a_small_difference_is_what_difflib_says() -> None:
    old = [f"{number}\n" for number in range(50)]
    new = [*old[:20], "other\n", *old[21:40], *old[41:]]
    assert list(unified_diff(old, new, NAMES)) == list(difflib.unified_diff(old, new, *NAMES))


def test_lines_that_every_program_repeats_do_not_make_a_difference_longer() -> None:
    old = [line for number in range(3000) for line in (f"def f{number}():\n", "    return None\n", "\n")]
    new = ["first\n", *old[1:-1], "last\n"]
    assert len(list(unified_diff(old, new, NAMES))) == 2 + 2 * (1 + CONTEXT + 2)


def alternating(word: str) -> list[str]:
    return [f"{number}\n" if number % 2 else f"{word} {number}\n" for number in range(100_000)]


def repeating(seed: int) -> list[str]:
    chance = Random(seed)
    return [f"{chance.randrange(110):03}\n" for _ in range(200_000)]


def other_lines() -> tuple[list[str], list[str]]:
    return repeating(1), repeating(2)


def one_other_line() -> tuple[list[str], list[str]]:
    old = repeating(1)
    return old, [*old[:70_000], "new\n", *old[70_001:]]


def every_second_line() -> tuple[list[str], list[str]]:
    return alternating("old"), alternating("new")


def another_order() -> tuple[list[str], list[str]]:
    old = alternating("old")
    return old, Random(1).sample(old, k=len(old))


@pytest.mark.parametrize("pair", [other_lines, one_other_line, every_second_line, another_order])
def test_long_texts_are_compared_at_once(pair: Callable[[], tuple[list[str], list[str]]]) -> None:
    old, new = pair()
    begun = time.process_time()
    lines = list(unified_diff(old, new, NAMES))
    assert time.process_time() - begun < 10  # the shortest difference would take minutes
    assert applied(old, lines) == new


def test_lines_that_stay_between_others_are_found_in_long_texts_too() -> None:
    lines = list(unified_diff(alternating("old"), alternating("new"), NAMES))
    assert sum(line.startswith("+") for line in lines) == 50_001
