"""Patches of random texts: the target exactly, or nothing at all."""

import asyncio
import difflib
import errno
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_runtime.errors import SkillsRuntimeError, StorageFailed, ToolError
from skills_runtime.tools.builtin import ApplyPatch
from skills_runtime.tools.patch import UpdateFile, apply_hunks, parse_patch
from tests.support.examples import examples
from tests.support.tools import Workshop, tree

MARK = b"\xef\xbb\xbf"

bodies = st.one_of(
    st.sampled_from([b"", b"a", b"b", b"a ", b"}", b"+", b"-x", b"*** End Patch", b"@@", "\u2028".encode(), b"\x0c"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=6).map(str.encode),
)
endings = st.sampled_from([b"\n", b"\n", b"\r\n", b"\r\r\n"])
lines = st.builds(bytes.__add__, bodies, endings)


@st.composite
def texts(draw: st.DrawFn) -> list[bytes]:
    """The lines of a text; the last one may have no newline."""
    results = draw(st.lists(lines, max_size=12))
    last = draw(bodies)
    return [*results, last] if last and draw(st.booleans()) else results


@st.composite
def edits(draw: st.DrawFn) -> tuple[list[bytes], list[bytes]]:
    """A text and another one that shares some of its lines."""
    old = draw(texts())
    new: list[bytes] = []
    for line in old:
        what = draw(st.sampled_from(["keep", "keep", "keep", "drop", "replace", "insert"]))
        new += {"keep": [line], "drop": [], "replace": [draw(lines)], "insert": [draw(lines), line]}[what]
    new += draw(st.lists(lines, max_size=2))
    *inner, last = new or [b""]
    inner = [line if line.endswith(b"\n") else line + b"\n" for line in inner]
    return old, [*inner, last] if last else inner


def _key(line: bytes, *, spelled: bool) -> bytes:
    bare = line.removesuffix(b"\n")
    return bare if spelled or not line.endswith(b"\r\n") else bare.removesuffix(b"\r")


def _first_fit(old: Sequence[bytes], run: Sequence[bytes], start: int, *, spelled: bool) -> int:
    keys, expected = ([_key(line, spelled=spelled) for line in some] for some in (old, run))
    return next(offset for offset in range(start, len(old) + 1) if keys[offset : offset + len(run)] == expected)


def _spell(side: bytes, line: bytes) -> Iterator[bytes]:
    yield side + line.removesuffix(b"\n")
    if not line.endswith(b"\n"):
        yield b"\\ No newline at end of file"


def hunks_of(old: list[bytes], new: list[bytes]) -> list[list[bytes]]:
    """The lines of each hunk of a patch from one text to the other, with as much context as makes it unambiguous."""
    hunks: list[list[bytes]] = []
    cursor = 0
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(1):
        begin, end = group[0][1], group[-1][2]
        body = [
            spelled
            for tag, i1, i2, j1, j2 in group
            for side, part in (((b" ", old[i1:i2]),) if tag == "equal" else ((b"-", old[i1:i2]), (b"+", new[j1:j2])))
            for line in part
            for spelled in _spell(side, line)
        ]
        while begin > cursor and begin != _first_fit(
            old, old[begin:end], cursor, spelled=any(line.endswith(b"\r") for line in body)
        ):
            begin -= 1
            body = [*_spell(b" ", old[begin]), *body]
        hunks.append([*body, b"*** End of File"] if end == len(old) and begin % 2 and end > begin else body)
        cursor = end
    return hunks


def section_of(path: str, hunks: Sequence[Sequence[bytes]]) -> bytes:
    return b"\n".join([b"*** Update File: " + path.encode(), *(b"\n".join([b"@@", *hunk]) for hunk in hunks)])


def enveloped(*sections: bytes) -> str:
    return b"\n".join([b"*** Begin Patch", *sections, b"*** End Patch"]).decode()


def _apply(text: str, data: bytes) -> bytes:
    (section,) = parse_patch(text)
    assert isinstance(section, UpdateFile)
    return apply_hunks(data, section.hunks, section.path).data


junk = st.binary(max_size=5).map(lambda data: b"\xff" + data.replace(b"\n", b"") + b"\n")


@settings(max_examples=examples(500))
@given(edits(), st.sampled_from([b"", MARK]))
def test_a_patch_from_one_text_to_another_gives_that_text(edit: tuple[list[bytes], list[bytes]], mark: bytes) -> None:
    old, new = edit
    if (hunks := hunks_of(old, new)) and not b"".join(old).startswith(MARK):
        assert _apply(enveloped(section_of("f", hunks)), mark + b"".join(old)) == mark + b"".join(new)


@given(edits(), st.lists(junk, max_size=4), st.lists(junk, min_size=1, max_size=4))
def test_bytes_around_the_hunks_stay_whatever_they_are(
    edit: tuple[list[bytes], list[bytes]], before: list[bytes], after: list[bytes]
) -> None:
    old, new = ([line if line.endswith(b"\n") else line + b"\n" for line in some] for some in edit)
    hunks = [[line for line in hunk if line != b"*** End of File"] for hunk in hunks_of(old, new)]
    if hunks and old:
        whole = [b"".join([*before, *some, *after]) for some in (old, new)]
        assert _apply(enveloped(section_of("f", hunks)), whole[0]) == whole[1]


@given(edits(), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_a_patch_without_carriage_returns_keeps_the_endings_of_the_file(
    edit: tuple[list[bytes], list[bytes]], end: bytes, final: bool
) -> None:
    old, new = ([line.strip(b"\r\n").replace(b"\r", b"") + b"\n" for line in some] for some in edit)
    if not (hunks := hunks_of(old, new)) or not old or not new:
        return
    whole = [b"".join(some).replace(b"\n", end) for some in (old, new)]
    if not final and len(old) > 1 and old[-1] != new[-1] and b"\n" not in (old[-1], new[-1]):
        whole = [data.removesuffix(end) for data in whole]
    assert _apply(enveloped(section_of("f", hunks)), whole[0]) == whole[1]


@contextmanager
def _workshop() -> Generator[Workshop]:
    with tempfile.TemporaryDirectory() as path:
        yield Workshop(Path(path), delete="allow")


def _call(workshop: Workshop, text: str) -> None:
    asyncio.run(workshop.call(ApplyPatch(), input=text))


@settings(max_examples=examples(60))
@given(st.lists(edits(), min_size=1, max_size=3), st.data())
def test_a_hunk_that_fits_nowhere_leaves_every_file_as_it_was(
    pairs: list[tuple[list[bytes], list[bytes]]], data: st.DataObject
) -> None:
    files = {f"f{number}": pair for number, pair in enumerate(pairs) if hunks_of(*pair)}
    hunks = {name: hunks_of(*pair) for name, pair in files.items()}
    if not hunks:
        return
    spoiled = data.draw(st.sampled_from(sorted(hunks)))
    index = data.draw(st.integers(0, len(hunks[spoiled])))
    hunks[spoiled].insert(index, [b"-this line is in no file", b"+x"])
    with _workshop() as workshop:
        for name, (old, _) in files.items():
            workshop.write(name, b"".join(old))
        before = tree(workshop.root)
        with pytest.raises(ToolError, match=f"hunk {index + 1} of `{spoiled}`"):
            _call(workshop, enveloped(*(section_of(name, some) for name, some in hunks.items())))
        assert tree(workshop.root) == before


PATCH = enveloped(
    b"*** Update File: a\n@@\n-a\n+A",
    b"*** Add File: new/b\n+B",
    b"*** Update File: c\n*** Move to: moved/c\n@@\n-c\n+C",
    b"*** Delete File: d",
    b"*** Update File: e\n@@\n-e\n+E",
)
BEFORE = {"a": b"a\n", "c": b"c\n", "d": b"d\n", "e": b"e\n"}
AFTER = {"a": b"A\n", "new/b": b"B\n", "moved/c": b"C\n", "e": b"E\n"}
RENAMES = 6
"""Changes of names that the patch makes: three files replaced or added, one moved in two steps, one deleted."""

Rename = Callable[..., None]


def _failing(is_due: Callable[[int], bool], fail: Callable[[], None]) -> Rename:
    """The real `os.rename`, except where a call, counted from 1, shall fail instead."""
    real, count = os.rename, 0

    def rename(*names: str, **directories: int) -> None:
        nonlocal count
        count += 1
        if is_due(count):
            fail()
        real(*names, **directories)

    return rename


def _refuse() -> None:
    raise OSError(errno.EACCES, os.strerror(errno.EACCES))


def _prepared(workshop: Workshop) -> Workshop:
    for name, data in BEFORE.items():
        workshop.write(name, data)
    return workshop


DRAFT = re.compile(r"\..{1,40}\.\d+\.[0-9a-f]{12}")
"""What a process that was killed may leave."""


def _old_or_new(contents: dict[str, bytes]) -> bool:
    named = {name: data for name, data in contents.items() if not DRAFT.fullmatch(Path(name).name)}
    return all(named.get(name) in (BEFORE.get(name), AFTER.get(name)) for name in {*named, *BEFORE, *AFTER})


def test_the_patch_of_these_tests_changes_that_many_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workshop = _prepared(Workshop(tmp_path, delete="allow"))
    seen: list[int] = []
    monkeypatch.setattr(os, "rename", _failing(lambda count: bool(seen.append(count)), _refuse))
    _call(workshop, PATCH)
    assert len(seen) == RENAMES
    assert workshop.contents() == AFTER


@pytest.mark.parametrize("nth", range(1, RENAMES + 1))
def test_a_step_that_fails_is_undone_with_all_before_it(
    nth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop = _prepared(Workshop(tmp_path, delete="allow"))
    before = tree(workshop.root)
    monkeypatch.setattr(os, "rename", _failing(lambda count: count == nth, _refuse))
    with pytest.raises(SkillsRuntimeError) as caught:
        _call(workshop, PATCH)
    assert caught.value.kind == "permission"
    assert tree(workshop.root) == before
    assert {record.ok for record in workshop.records if record.op != "read"} == {False}


@pytest.mark.parametrize("nth", range(2, RENAMES + 1))
def test_steps_that_cannot_be_undone_are_named(nth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workshop = _prepared(Workshop(tmp_path, delete="allow"))
    monkeypatch.setattr(os, "rename", _failing(lambda count: count >= nth, _refuse))
    with pytest.raises(StorageFailed) as caught:
        _call(workshop, PATCH)
    result = workshop.contents()
    assert _old_or_new(result)
    named = BEFORE | AFTER
    changed = {name for name in named if result.get(name) != BEFORE.get(name)}
    assert set(caught.value.details["changed"]) == changed
    assert set(caught.value.details["unchanged"]) == named.keys() - changed


@pytest.mark.parametrize("nth", range(1, RENAMES + 1))
def test_a_process_killed_between_two_steps_leaves_each_file_old_or_new(
    nth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop = _prepared(Workshop(tmp_path, delete="allow"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            monkeypatch.setattr(os, "rename", _failing(lambda count: count == nth, lambda: os._exit(9)))
            _call(workshop, PATCH)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    result = workshop.contents()
    assert _old_or_new(result)
    assert not {"c", "moved/c"}.isdisjoint(result), "a file that moves is never nowhere"
