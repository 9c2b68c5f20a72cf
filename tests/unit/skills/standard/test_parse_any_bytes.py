"""Whatever bytes a file has: no error, a verdict, and messages that can be printed."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.skills.standard import parse_run, parse_skill

CASES = 10_000
SKILLS = (
    b"---\nname: my-skill\ndescription: Use when: x, \"y\" and 'z'\nmetadata:\n  a: 1\n  b: [x, {c: d}]\n"
    b"allowed-tools: Bash(git:*) Read\n---\n# Title\n\nBody\n",
    b"---\nname: &a x\ndescription: *a\nother: !!python/object x\n---\nbody",
    b"\xef\xbb\xbf---\r\nname: b\r\ndescription: >-\r\n  folded\r\n  text\r\n---\r\nBody",
    b'{"name": "run-me", "runtime": {"type": "python"}, "timeout": 5, "artifacts": ["a/b"]}',
)
PIECES = (
    b"---\n", b"\n", b": ", b"[", b"{", b"'", b'"', b"&a ", b"*a", b"!!t ", b"|\n", b">\n", b"\t", b"\x00", b"\xff",
    b"#", b"- ", b"? ", b"\r", b"name", b"description: ", b"\xe2\x80\xa8", b"%", b"@", b"`", b"...\n", b"<!--", b"  ",
)  # fmt: skip


def fuzzed(chance: random.Random) -> bytes:
    """Bytes, pieces of YAML, or a skill that something happened to."""
    kind = chance.randrange(4)
    if kind == 0:
        return chance.randbytes(chance.randrange(200))
    if kind == 1:
        return b"---\n" + b"".join(chance.choices(PIECES, k=chance.randrange(30))) + b"\n---\nbody"
    data = bytearray(chance.choice(SKILLS))
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(data) + 1)
        if chance.random() < 0.4:
            data[place:place] = chance.choice(PIECES)
        elif chance.random() < 0.5:
            del data[place : place + chance.randint(1, 8)]
        else:
            data[place : place + 1] = chance.randbytes(1)
    return bytes(data)


def test_ten_thousand_fuzzed_files_get_a_verdict_in_either_mode() -> None:
    chance = random.Random(20_261_101)
    usable = 0
    for _ in range(CASES):
        data = fuzzed(chance)
        name = chance.choice([None, "my-skill", "\udcff"])
        for parsed in (parse_skill(data, mode=mode, directory_name=name) for mode in ("strict", "lenient")):
            errors = [one for one in parsed.diagnostics if one.severity == "error"]
            assert (parsed.skill is None) == bool(errors), data
            assert all(one.message.isprintable() and (one.line or 1) >= 1 for one in parsed.diagnostics), data
            if parsed.skill is not None:
                usable += 1
                assert parsed.skill.name.isprintable(), data
                assert parsed.skill.description, data
        parse_run(data)
    assert usable > CASES / 10


@pytest.mark.parametrize("piece", [*PIECES, b"a: *a\n", b"x: &a [*a]\n", b"a:\n", b"a: b: c\n", b"(", b"( (", b"- -"])
def test_sixty_thousand_of_anything_are_read_as_well(piece: bytes) -> None:
    for start in (b"---\nname: ab\ndescription: ", b"---\nname: ab\nallowed-tools: ", b"---\n", b""):
        data = start + (piece * 65_000)[:60_000] + b"\n---\nbody"
        assert parse_skill(data, mode="lenient", directory_name="ab").diagnostics is not None


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    for whole in (data, b"---\n" + data + b"\n---\n", b"---\nname: ab\ndescription: " + data + b"\n---\n"):
        parse_skill(whole, mode="strict", directory_name="ab")
        parse_skill(whole, mode="lenient")
    parse_run(data)
