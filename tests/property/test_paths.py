"""Whatever the tree, the links and the path: what is opened is inside, and what is outside never changes."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.events.payloads import FileOperation
from skills_runtime.runs.files import PathPolicy, RunFiles, isolated_policy, resolve, scan, shared_policy
from skills_runtime.runs.files.paths import parse_path
from skills_runtime.runs.layout import SUBDIRECTORIES
from skills_runtime.storage.beneath import open_by_kernel, open_by_walk, open_root

OPENERS = (open_by_kernel, open_by_walk)
NAMES = ("a", "b", "x")

name = st.sampled_from(NAMES)
step = st.one_of(name, st.sampled_from(["..", "..", ".", "", "outside", "run", "run.json", "workspace", "blobs"]))
below = st.lists(name, min_size=1, max_size=3).map("/".join)
target = st.one_of(
    st.lists(step, min_size=1, max_size=7).map("/".join),
    st.lists(step, max_size=4).map(lambda parts: "/".join(["{run}", *parts])),
    st.lists(step, max_size=4).map(lambda parts: "/".join(["{top}", *parts])),
    st.sampled_from(["/", "/proc/self/root", "/proc/self/cwd", "{run}-evil/x", "/etc/passwd"]),
)
user_path = st.one_of(
    below,
    st.lists(name, max_size=3).map(lambda parts: "/".join(["workspace", *parts])),
    target,
    st.text(max_size=20),
)


@dataclass(frozen=True)
class Tree:
    """What is made below a run directory."""

    directories: list[str]
    files: list[str]
    links: list[tuple[str, str]]


trees = st.builds(
    Tree,
    directories=st.lists(below.map("workspace/{}".format), max_size=5),
    files=st.lists(below.map("workspace/{}".format), max_size=5),
    links=st.lists(st.tuples(below.map("workspace/{}".format), target), min_size=1, max_size=8),
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Tree, str]:
    """A tree, and a path that often leads through it."""
    tree = draw(trees)
    strategy = st.sampled_from([path for path, _ in tree.links] + tree.files)
    return tree, draw(st.one_of(strategy, st.tuples(strategy, below).map("/".join), user_path))


@dataclass(frozen=True)
class World:
    """A run directory, and around it a top directory that holds things no run may touch."""

    top: Path
    run: Path

    def path(self, text: str) -> str:
        return text.replace("{run}", str(self.run)).replace("{top}", str(self.top))

    def inside(self) -> set[tuple[int, int]]:
        """Device and inode of everything in the run directory."""
        paths = [self.run, *self.run.rglob("*")]
        return {(look.st_dev, look.st_ino) for path in paths for look in [path.lstat()]}

    def protected(self) -> dict[str, tuple[int, bytes]]:
        """Every file that nothing may change, with its inode and content."""
        writable = self.run / "workspace", self.run / "deliverables", self.run / "logs" / "trash"
        return {
            str(path): (path.stat().st_ino, path.read_bytes())
            for path in self.top.rglob("*")
            if path.is_file() and not path.is_symlink() and not any(path.is_relative_to(root) for root in writable)
        }


@contextmanager
def world(tree: Tree) -> Generator[World]:
    with tempfile.TemporaryDirectory() as file_path:
        top = Path(file_path).resolve()
        world = World(top, top / "run")
        for folder in ("outside/a/b", "run-evil", *(f"run/{name}" for name in SUBDIRECTORIES)):
            (top / folder).mkdir(parents=True)
        for path in ("x", "run.json", "outside/x", "outside/a/x", "run-evil/x"):
            (top / path).write_text("outside")
        for path in ("run.json", "blobs/x"):
            (world.run / path).write_text("system")
        _fill(world, tree)
        yield world


def _fill(world: World, tree: Tree) -> None:
    with suppress(OSError):  # names collide, which is part of the game
        for path in tree.directories:
            (world.run / path).mkdir(parents=True, exist_ok=True)
    for path in tree.files:
        with suppress(OSError):
            (world.run / path).parent.mkdir(parents=True, exist_ok=True)
            if (world.run / path).parent.resolve().is_relative_to(world.run / "workspace"):
                (world.run / path).write_text("inside")
    for path, leads_to in tree.links:
        with suppress(OSError):
            parent = (world.run / path).parent
            parent.mkdir(parents=True, exist_ok=True)
            if parent.resolve().is_relative_to(world.run / "workspace"):
                (world.run / path).symlink_to(world.path(leads_to))


def outcome(policy: PathPolicy, path: str, index: int) -> tuple[bytes | str, list[FileOperation]]:
    """What reading gave, content or kind of error, and what was recorded."""
    records: list[FileOperation] = []
    files = RunFiles(policy, records.append, opener=OPENERS[index])
    try:
        return files.read(path, limit=100), records
    except SkillsRuntimeError as error:
        return error.kind, records


@given(cases())
def test_what_is_opened_is_always_inside(case: tuple[Tree, str]) -> None:
    tree, path = case
    with world(tree) as made:
        inside = made.inside()
        parts = [part for part in made.path(path).split("/") if part not in ("", ".") and "\0" not in part]
        for opener in OPENERS:
            root = open_root(made.run)
            try:
                file = opener(root, parts, os.O_PATH, 0)
            except (OSError, UnicodeEncodeError):
                continue
            finally:
                os.close(root)
            look = os.fstat(file.fd)
            os.close(file.fd)
            assert (look.st_dev, look.st_ino) in inside
            named = made.run.joinpath(*file.parts)
            assert os.path.samestat(named.lstat(), look)
            assert named.parent.resolve() == named.parent


@given(cases())
def test_both_ways_of_opening_agree_and_never_read_what_is_outside(case: tuple[Tree, str]) -> None:
    tree, path = case
    with world(tree) as made:
        policy, text = isolated_policy(made.run), made.path(path)
        first, second = outcome(policy, text, 0), outcome(policy, text, 1)
        assert first == second
        assert first[0] != b"outside"
        assert len(first[1]) == 1


@given(cases(), user_path, st.booleans())
def test_no_operation_changes_anything_but_the_write_roots(
    case: tuple[Tree, str], other: str, create_dirs: bool
) -> None:
    tree, path = case
    with world(tree) as made:
        before = made.protected()
        records: list[FileOperation] = []
        for opener in OPENERS:
            policy = replace(isolated_policy(made.run), delete="allow")
            files = RunFiles(policy, records.append, opener=opener)
            for attempt in (
                lambda: files.write(made.path(path), b"written", create_dirs=create_dirs),  # noqa: B023
                lambda: files.rename(made.path(path), made.path(other)),  # noqa: B023
                lambda: files.delete(made.path(other)),  # noqa: B023
            ):
                with suppress(SkillsRuntimeError):
                    attempt()
        assert made.protected() == before
        assert [record.op for record in records] == ["write", "rename", "delete"] * 2


@given(cases(), st.booleans())
def test_a_resolved_path_is_real_and_inside(case: tuple[Tree, str], for_write: bool) -> None:
    tree, path = case
    with world(tree) as made:
        for opener in OPENERS:
            with suppress(SkillsRuntimeError):
                file_path = resolve(isolated_policy(made.run), made.path(path), for_write=for_write, opener=opener)
                assert file_path.is_relative_to(made.run)
                assert file_path.resolve() == file_path


@given(tree=trees)
def test_a_scan_lists_only_what_is_inside_and_always_the_same(tree: Tree) -> None:
    with world(tree) as made:
        result = scan(made.run, ["workspace"])
        assert result == scan(made.run, ["workspace"])
        paths = [path for path in (made.run / "workspace").rglob("*") if path.is_file() and not path.is_symlink()]
        expected = sorted(path.relative_to(made.run).parts for path in paths)
        assert [tuple(file.path.split("/")) for file in result.files] == expected


@given(path=st.one_of(st.text(), user_path), shared=st.booleans())
def test_any_text_is_a_plain_path_or_an_error_of_ours_and_can_be_recorded(path: str, shared: bool) -> None:
    with world(Tree([], [], [])) as made:
        policy = shared_policy(made.top, made.run) if shared else isolated_policy(made.run)
        with suppress(SkillsRuntimeError):
            location = parse_path(policy, path)
            assert not {"", ".", ".."} & set(location.parts)
            assert not any("/" in part or "\0" in part for part in location.parts)
        records: list[FileOperation] = []
        with suppress(SkillsRuntimeError):
            RunFiles(policy, records.append).read(path, limit=1)
        assert len(records) == 1
        assert msgspec.json.decode(msgspec.json.encode(records[0]), type=FileOperation) == records[0]
