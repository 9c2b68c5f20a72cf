"""The quick reader of a search takes what the lenient reader takes without a warning, and makes the same of it."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_runtime.skills.standard import parse_skill
from skills_runtime.skills.standard.parsing import MAX_BYTES
from skills_runtime.skills.standard.plain import plain_skill
from tests.unit.skills.standard.test_any_bytes import PIECES

ORDINARY = b"---\nname: ab\ndescription: Does it, and more.\nlicense: MIT\nmetadata:\n  a: b\n---\n# Title\n\nBody\n"
LINES = st.sampled_from(
    ["name: ab", "name: a", "name: Ab", "name: a_b", "name: -ab", 'name: "ab"', "name:", "Name: ab", "name: ab ",
     "description: Does it.", "description: >-\n  Does\n  it.", "description:", "description: '  '", "Description: x",
     f"description: {'x' * 1024}", f"description: {'x' * 1025}", "description:\n  - a\n  - b", "description: a: b",
     "description: |\n  x\n", "license: MIT", "license:\n  - a", "allowed_tools: Read", "allowed-tools: a, b",
     "metadata:\n  a: b", "metadata: x", "other: y", "---", "--- x", " ---", "...", "", "\ufeff", "# x", "\r", "é: ü"],
)  # fmt: skip


def agrees(data: bytes, name: str, *, max_bytes: int = MAX_BYTES) -> bool:
    """Whether the quick reader takes a file; what it makes of it must be what the whole reader makes of it."""
    plain = plain_skill(data, name, max_bytes)
    if plain is None:
        return False
    parsed = parse_skill(data, mode="lenient", directory_name=name, max_bytes=max_bytes)
    assert parsed.skill is not None
    assert (plain.name, plain.description) == (parsed.skill.name, parsed.skill.description)
    assert list(plain.other.items()) == list(parsed.skill.other.items())
    assert all(one.severity == "info" for one in parsed.diagnostics)
    return True


@settings(max_examples=300)
@given(st.lists(LINES, max_size=8), st.sampled_from(["ab", "a", "Ab", "x"]), st.sampled_from(["\n", "\r\n"]))
def test_any_front_matter_is_read_as_the_whole_reader_reads_it(lines: list[str], name: str, end: str) -> None:
    agrees(("\n".join(["---", *lines, "---", "body"]).replace("\n", end)).encode(), name)


@settings(max_examples=300)
@given(st.lists(LINES, max_size=5), st.integers(0, 60))
def test_so_is_one_behind_a_name_and_a_description_and_under_any_limit(lines: list[str], limit: int) -> None:
    text = "\n".join(["---", "name: ab", "description: Does it.", *lines, "---", "body"])
    agrees(text.encode(), "ab", max_bytes=limit)
    agrees(text.encode(), "ab")


def test_so_is_whatever_became_of_a_skill() -> None:
    chance = random.Random(20_261_116)
    taken = 0
    for _ in range(5000):
        data = bytearray(ORDINARY)
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(data) + 1)
            data[place : place + chance.randrange(3)] = chance.choice(PIECES)
        taken += agrees(bytes(data), "ab")
    assert 100 < taken < 4900


@pytest.mark.parametrize("more", ["", "license: MIT\n", "metadata:\n  a: b\nallowed-tools:\n  - Read\n", "other: x\n"])
def test_an_ordinary_skill_is_read_quickly(more: str) -> None:
    assert agrees(f"---\nname: ab\ndescription: Does it.\n{more}---\nbody".encode(), "ab")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"---\n",
        b"---\nname: ab\ndescription: Does it.\n",
        b"---\nname: ab\ndescription: Does it.\n---",
        b"---\nname: ab\ndescription: Does it.\n--- \nbody",
        b"---\nname: other\ndescription: Does it.\n---\n",
        b"---\nname: ab\n---\nDoes it.\n",
        b"---\nname: ab\ndescription: \xff\n---\n",
        b"\xef\xbb\xbf---\nname: ab\ndescription: Does it.\n---\n",
    ],
)
def test_what_there_is_something_to_say_about_is_left_to_the_whole_reader(data: bytes) -> None:
    assert plain_skill(data, "ab", MAX_BYTES) is None
