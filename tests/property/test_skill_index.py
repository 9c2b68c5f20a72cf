"""Whatever happens to a tree of skills, a search with an index finds what a search without one finds."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from skills_runtime.skills import FilesystemSource, Origin, ScanOptions
from skills_runtime.skills.sources import IndexedSource
from tests.support.examples import examples
from tests.unit.skills.sources.trees import HOUR_NS, next_tick

PLACES = ("a", "b", "a/c", "a/c/d", "b/c", ".hidden")
TEXTS = (
    "---\nname: one\ndescription: Does 1.\n---\n",
    "---\nname: one\ndescription: Does 2.\n---\n",
    "---\nname: two\ndescription: Does 2.\nlicense: [MIT, x]\n---\n",
    "nothing",
    "",
)
FILES = ("SKILL.md", "skill.md", "skill.yaml", "agents/openai.yaml", "notes.txt")
OTHER = (
    '{"name": "one", "runtime": {"type": "shell"}}',
    "dependencies: {tools: [{type: env_var, value: KEY}]}",
)
OPTIONS = ScanOptions(max_depth=3, max_dirs_per_root=6, max_entries_per_root=12)

Edit = Callable[[Path], None]


def write(file_path: str, file: str, text: str, *, keep_time: bool, replace: bool) -> Edit:
    def edit(root: Path) -> None:
        path = root / file_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.stat() if path.exists() else None
        if replace:
            (root / file_path / "draft").write_text(text)
            (root / file_path / "draft").rename(path)
        else:
            path.write_text(text)
        if keep_time and before is not None:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    return edit


def remove(path: str) -> Edit:
    return lambda root: shutil.rmtree(root / path, ignore_errors=True)


def rename(path: str, other: str) -> Edit:
    def edit(root: Path) -> None:
        one, another = root / path, root / other
        if one.is_dir() and another.parent.is_dir() and one not in another.parents and another not in one.parents:
            if one != another:
                shutil.rmtree(another, ignore_errors=True)
            one.rename(another)

    return edit


def link(file_path: str, target: str) -> Edit:
    def edit(root: Path) -> None:
        path = root / file_path / "link"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(target)

    return edit


strategy = st.sampled_from(PLACES)
edits = st.one_of(
    st.builds(
        write,
        strategy,
        st.sampled_from(FILES),
        st.sampled_from(TEXTS + OTHER),
        keep_time=st.booleans(),
        replace=st.booleans(),
    ),
    st.builds(remove, st.sampled_from((*PLACES, ""))),
    st.builds(rename, strategy, strategy),
    st.builds(link, strategy, st.sampled_from(("..", "link", "/nowhere", "/"))),
)


def searches_agree(steps: list[Edit], *, ahead_ns: int, after_each: Callable[[Path], None]) -> None:
    """Search after each step, with the index on disk and with the one in memory in turn."""
    with tempfile.TemporaryDirectory() as base:
        root, index = Path(base, "skills"), Path(base, "index")
        root.mkdir()
        files = FilesystemSource(Origin("s", "own", "f"), root, OPTIONS)
        source = IndexedSource(files, index, now_ns=lambda: time.time_ns() + ahead_ns)
        for number, step in enumerate([lambda _: None, *steps]):
            step(root)
            after_each(Path(base))
            if number % 2:
                source = IndexedSource(files, index, now_ns=lambda: time.time_ns() + ahead_ns)
            for _ in range(2):
                assert source.skills() == files.skills()


@settings(max_examples=examples(60))
@given(st.lists(edits, max_size=8))
def test_edits_within_one_tick_of_the_clock_are_seen(steps: list[Edit]) -> None:
    searches_agree(steps, ahead_ns=0, after_each=lambda _: None)


@settings(max_examples=examples(60))
@given(st.lists(edits, max_size=8))
def test_what_has_settled_is_believed_and_every_later_edit_is_seen(steps: list[Edit]) -> None:
    searches_agree(steps, ahead_ns=HOUR_NS, after_each=next_tick)
