"""Layers that hold only what differs, as the kernel writes them: marks of deletion, opaque directories, copies."""

import inspect
import shutil
import subprocess
from pathlib import Path

import pytest

from skills_runtime.errors import SandboxError
from skills_runtime.sandbox.overlay import Layer, commit_layer, difference_of, discard_layer, find_layer, new_layer
from tests.support.users import Unprivileged
from tests.unit.sandbox.overlay import trees_in_tests
from tests.unit.sandbox.overlay.trees_in_tests import edit, fill, tree

SAYS_YES = "/usr/bin/true"
"""Stands for a bubblewrap that can do it: the tests mount by themselves."""
EDITS = f"{inspect.getsource(trees_in_tests)}\nimport sys\nedit(Path.cwd(), int(sys.argv[1]))\n"
MOUNT = """
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3,userxattr" "$1"
mount -t tmpfs none "$1/.skills_runtime_sdk"  # hidden, as it is from every command
cd "$1"
shift 3
exec "$@"
"""


def inside(layer: Layer, *argv: str) -> None:
    """Run something that sees the layer over the workspace, in a place of its own."""
    places = (str(layer.workspace), str(layer.tree), str(layer.work))
    words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", MOUNT, "sh", *places, *argv]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def script(layer: Layer, text: str) -> None:
    inside(layer, "/bin/sh", "-euc", text)


@pytest.fixture
def layer(tmp_path: Path) -> Layer:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    fill(workspace)
    return new_layer(workspace, bubblewrap=SAYS_YES)


def edited_equally(base: Path, seed: int) -> str:
    base.mkdir(parents=True)
    workspace, twin = base / "workspace", base / "twin"
    workspace.mkdir()
    fill(workspace)
    shutil.copytree(workspace, twin, symlinks=True)
    before = tree(workspace)
    layer = new_layer(workspace, bubblewrap=SAYS_YES)
    inside(layer, "/usr/bin/python3", "-I", "-c", EDITS, str(seed))
    edit(twin, seed)
    if tree(workspace) != before:
        return "the workspace changed before the commit"
    commit_layer(layer)
    left = "" if not layer.home.exists() else "the layer is left"
    return left if tree(workspace) == tree(twin) else f"{set(tree(workspace).items()) ^ set(tree(twin).items())}"


@pytest.mark.parametrize("seed", range(25))
def test_edits_in_a_layer_are_the_same_edits_in_the_workspace(seed: int, tmp_path: Path) -> None:
    assert edited_equally(tmp_path / "base", seed) == ""


def test_the_same_holds_for_an_ordinary_user(unprivileged: Unprivileged) -> None:
    def run() -> dict[int, str]:
        found = {seed: edited_equally(unprivileged.path / str(seed), seed) for seed in range(10)}
        return {seed: text for seed, text in found.items() if text}

    assert unprivileged(run) == {}


def test_the_layer_knows_how_it_lies(layer: Layer) -> None:
    assert layer.mode == "mount"
    assert find_layer(layer.workspace, layer.name) == layer
    assert not difference_of(layer)


def test_a_directory_that_was_made_anew_loses_what_was_in_it(layer: Layer) -> None:
    script(layer, "rm -r src/deep; mkdir src/deep; echo new > src/deep/new")
    found = {(change.path, change.kind) for change in difference_of(layer).changes}
    assert found == {("src/deep/new", "added"), ("src/deep/x", "removed"), ("src/deep/deeper", "removed"),
                     ("src/deep/deeper/y", "removed")}  # fmt: skip
    commit_layer(layer)
    assert [path.name for path in (layer.workspace / "src/deep").iterdir()] == ["new"]


def test_a_file_that_was_only_touched_is_no_change(layer: Layer) -> None:
    script(layer, "touch README; chmod 600 docs/index; chmod 644 docs/index")
    assert not difference_of(layer)


def test_discarding_leaves_the_workspace_byte_for_byte(layer: Layer) -> None:
    before = tree(layer.workspace)
    inside(layer, "/usr/bin/python3", "-I", "-c", EDITS, "5")
    discard_layer(layer)
    assert tree(layer.workspace, without=()) == before


@pytest.mark.parametrize("path", [".env", ".git/hooks/pre-commit", ".mcp.json", ".claude", "src/.git"])
def test_what_is_protected_is_never_committed(path: str, layer: Layer) -> None:
    before = tree(layer.workspace)
    script(layer, f"echo taken over > {path}")
    assert commit_layer(layer).changes == ()
    assert tree(layer.workspace) == before


def test_a_protected_file_is_not_deleted_by_a_commit(layer: Layer) -> None:
    script(layer, "rm .env; rm -r .git; rm README")
    done = commit_layer(layer)
    assert [change.path for change in done.changes] == ["README"]
    assert (layer.workspace / ".git/HEAD").exists()
    assert (layer.workspace / ".env").exists()


def test_what_changed_meanwhile_is_a_conflict(layer: Layer) -> None:
    script(layer, "echo ours > README; rm docs/index")
    (layer.workspace / "README").write_text("theirs")
    (layer.workspace / "docs/index").write_text("theirs")
    with pytest.raises(SandboxError, match="README, docs/index"):
        commit_layer(layer)
    assert (layer.workspace / "README").read_text() == "theirs"
    commit_layer(layer, force=True)
    assert (layer.workspace / "README").read_text() == "ours\n"
    assert not (layer.workspace / "docs/index").exists()


def test_a_file_of_the_same_name_made_meanwhile_is_a_conflict(layer: Layer) -> None:
    script(layer, "echo ours > new")
    (layer.workspace / "new").write_text("theirs")
    with pytest.raises(SandboxError, match="new"):
        commit_layer(layer)


def test_a_commit_that_kept_the_layer_can_be_repeated(layer: Layer) -> None:
    script(layer, "echo ours > README; rm -r docs; echo x > .mcp.json")
    first = commit_layer(layer)
    assert len(first.changes) == 3
    assert commit_layer(layer).changes == ()
    assert (layer.workspace / "README").read_text() == "ours\n"


def test_a_program_that_cannot_do_it_means_a_copy(tmp_path: Path) -> None:
    for program in ("/usr/bin/false", "/nonexistent"):
        assert new_layer(tmp_path, bubblewrap=program).mode == "copy"
