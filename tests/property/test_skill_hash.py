"""The hashes of skills: the same for the same content, another for any other."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from skills_runtime.skills.install import hash_directory
from skills_runtime.skills.install.hashing import HashedEntry, collation_key, content_digest, hash_files
from tests.support.examples import examples

NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=12
)
PATHS = st.lists(NAMES.filter(lambda name: name not in (".", "..")), min_size=1, max_size=3).map("/".join)
FILES = st.dictionaries(PATHS, st.binary(max_size=40), max_size=6)
PLAIN = st.from_regex(r"[A-Za-z0-9._-]{1,8}", fullmatch=True).filter(lambda name: name.strip("."))


@settings(max_examples=examples(100), deadline=None)
@given(FILES, st.randoms())
def test_the_public_hash_does_not_depend_on_the_order_files_are_found_in(
    files: dict[str, bytes], random: object
) -> None:
    shuffled = list(files.items())
    random.shuffle(shuffled)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    assert hash_files(shuffled) == hash_files(files.items())


@settings(max_examples=examples(200), deadline=None)
@given(FILES, FILES)
def test_only_the_same_content_has_the_same_digest(first: dict[str, bytes], other: dict[str, bytes]) -> None:
    assert (_digest(first) == _digest(other)) == (first == other)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(NAMES, max_size=6))
def test_any_names_have_an_order(names: list[str]) -> None:
    turned = names[::-1]
    assert sorted(names, key=collation_key) == sorted(turned, key=collation_key)


@settings(max_examples=examples(40), deadline=None)
@given(st.dictionaries(PLAIN, st.binary(max_size=40), min_size=1, max_size=5))
def test_a_directory_has_the_hash_of_its_files(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as path:
        for name, content in files.items():
            (Path(path) / name).write_bytes(content)
        hashed = hash_directory(Path(path))
    assert hashed.computed_hash == hash_files(files.items())
    assert {entry.path: entry.size for entry in hashed.entries} == {name: len(data) for name, data in files.items()}


def _digest(files: dict[str, bytes]) -> str:
    return content_digest(
        HashedEntry(path, "file", len(data), executable=False, content=data.hex()) for path, data in files.items()
    )
