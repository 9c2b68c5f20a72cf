"""Commands behind the real fence write to a layer; the workspace changes only when somebody commits."""

import asyncio
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import SandboxError
from skills_runtime.ports import ProcessRequest
from skills_runtime.processes import Command, Finished, Limits, execute
from skills_runtime.sandbox import CAREFUL, Fence, adapters_named, policy_for
from skills_runtime.sandbox.bubblewrap.adapter import find_program
from skills_runtime.sandbox.overlay import Layer, commit_layer, difference_of, discard_layer, new_layer
from skills_runtime.sandbox.promises import Promise
from tests.support.unprivileged import Unprivileged
from tests.unit.sandbox.overlay import trees_in_tests
from tests.unit.sandbox.overlay.trees_in_tests import edit, fill, tree

PROGRAM = Path(sys.executable).parent / "skills-runtime"
PYTHON = "/usr/bin/python3"
BUBBLEWRAP = "bwrap"
EDITS = f"{inspect.getsource(trees_in_tests)}\nimport sys\nedit(Path.cwd(), int(sys.argv[1]))\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir()
    fill(made)
    return made


def run(layer: Layer, *argv: str) -> Finished:
    policy = policy_for("workspace-write", layer.workspace, CAREFUL)
    work = layer.work if layer.mode == "mount" else None
    fence = Fence(policy, adapters_named("bubblewrap", bubblewrap=BUBBLEWRAP), {}).over(layer.tree, work)
    plan = fence.plan(ProcessRequest(argv=argv, cwd=layer.workspace))
    command = Command(plan.argv, plan.cwd, plan.environment, enclosure=plan.enclosure)
    return asyncio.run(execute(command, Limits(wall_seconds=60)))


def edited_equally(base: Path, seed: int, bubblewrap: str | None = None) -> str:
    """What differs between edits by a fenced command that are committed, and the same edits without a fence."""
    base.mkdir()
    workspace, twin = base / "workspace", base / "twin"
    workspace.mkdir()
    fill(workspace)
    shutil.copytree(workspace, twin, symlinks=True)
    before = tree(workspace)
    layer = new_layer(workspace, bubblewrap=bubblewrap)
    finished = run(layer, PYTHON, "-I", "-c", EDITS, str(seed))
    if finished.exit_code != 0 or tree(workspace) != before:
        return finished.stderr.text() or "the workspace changed before the commit"
    edit(twin, seed)
    commit_layer(layer)
    return "" if tree(workspace) == tree(twin) else f"{set(tree(workspace).items()) ^ set(tree(twin).items())}"


@pytest.mark.parametrize("seed", range(6))
def test_edits_inside_are_the_same_edits_outside_after_a_commit(seed: int, tmp_path: Path) -> None:
    assert edited_equally(tmp_path / "trees", seed) == ""


def test_the_same_holds_for_an_ordinary_user(unprivileged: Unprivileged) -> None:
    def work() -> dict[int, str]:
        found = {seed: edited_equally(unprivileged.path / str(seed), seed) for seed in range(4)}
        return {seed: text for seed, text in found.items() if text}

    assert unprivileged(work) == {}


@pytest.fixture
def mounting(tmp_path: Path) -> str:
    """A bubblewrap that can have the kernel lay a layer over a workspace."""
    program = find_program(BUBBLEWRAP)
    (tmp_path / "probe").mkdir()
    if program is None or new_layer(tmp_path / "probe", bubblewrap=program).mode != "mount":
        pytest.skip("this bubblewrap is older than 0.11 and knows no overlays")
    return program


@pytest.mark.parametrize("seed", range(4))
def test_the_same_holds_where_the_kernel_lays_the_layer(seed: int, mounting: str, tmp_path: Path) -> None:
    assert edited_equally(tmp_path / "trees", seed, mounting) == ""


def test_and_there_for_an_ordinary_user(mounting: str, unprivileged: Unprivileged) -> None:
    def work() -> dict[int, str]:
        found = {seed: edited_equally(unprivileged.path / str(seed), seed, mounting) for seed in range(3)}
        return {seed: text for seed, text in found.items() if text}

    assert unprivileged(work) == {}


def test_there_nothing_secret_shows_through_and_nothing_protected_changes(mounting: str, workspace: Path) -> None:
    layer = new_layer(workspace, bubblewrap=mounting)
    script = (
        "cat .env; cp .env copy; ls -A .skills_runtime_sdk; mv src moved; echo x > .git/hooks/x; echo y > .mcp.json"
    )
    finished = run(layer, "/bin/sh", "-c", script)
    assert "hush" not in finished.stdout.text() + finished.stderr.text()
    done = commit_layer(layer)
    assert {change.path for change in done.withheld} == {".mcp.json"}
    assert (workspace / "moved/main.py").exists()
    assert not (workspace / ".git/hooks/x").exists()
    assert "hush" not in "".join(path.read_text() for path in workspace.glob("copy"))


def test_there_a_link_from_an_earlier_command_leads_no_mount_astray(mounting: str, workspace: Path) -> None:
    (workspace / "nested/.git").mkdir(parents=True)
    layer = new_layer(workspace, bubblewrap=mounting)
    (layer.tree / "nested").symlink_to("/oldroot/tmp")
    assert run(layer, "/bin/sh", "-c", "readlink nested").stdout.text() == "/oldroot/tmp\n"
    assert not Path("/tmp/.git").exists()


def test_discarding_leaves_the_workspace_byte_for_byte(workspace: Path) -> None:
    before = tree(workspace, without=())
    layer = new_layer(workspace)
    run(layer, PYTHON, "-I", "-c", EDITS, "3")
    assert difference_of(layer).changes
    discard_layer(layer)
    assert tree(workspace, without=()) == before


def test_a_command_sees_the_workspace_at_its_own_path_without_secrets_and_layers(workspace: Path) -> None:
    layer = new_layer(workspace)
    script = "pwd; cat README | head -1; cat .env; ls -A .skills_runtime_sdk; git --version > /dev/null"
    finished = run(layer, "/bin/sh", "-c", script)
    assert finished.stdout.text() == f"{workspace}\nREADME\n"
    assert "hush" not in finished.stdout.text() + finished.stderr.text()


@pytest.mark.parametrize(
    "script",
    ["echo x > .git/hooks/pre-commit", "echo x > .mcp.json", "rm -rf .git", "mv .git x", "mkdir .skills_runtime_sdk/x"],
)
def test_what_is_protected_is_protected_in_a_layer_too(script: str, workspace: Path) -> None:
    layer = new_layer(workspace)
    assert run(layer, "/bin/sh", "-c", script).exit_code != 0
    assert not difference_of(layer)


def test_several_commands_see_what_those_before_wrote(workspace: Path) -> None:
    layer = new_layer(workspace)
    run(layer, "/bin/sh", "-c", "echo one > new")
    run(layer, "/bin/sh", "-c", "echo two >> new; rm README")
    commit_layer(layer)
    assert (workspace / "new").read_text() == "one\ntwo\n"
    assert not (workspace / "README").exists()


def test_a_command_of_the_administrator_in_somebody_s_workspace_works_on_a_layer(unprivileged: Unprivileged) -> None:
    workspace = unprivileged.path / "workspace"

    def prepare() -> None:
        workspace.mkdir(mode=0o755)
        fill(workspace)

    unprivileged(prepare)
    layer = new_layer(workspace)
    finished = run(layer, "/bin/sh", "-c", "echo x > new && rm README")
    assert finished.exit_code == 0, finished.stderr.text()
    commit_layer(layer)
    assert (workspace / "new").stat().st_uid == workspace.stat().st_uid
    assert not (workspace / "README").exists()


def test_landlock_lays_nothing_over_a_workspace(workspace: Path) -> None:
    layer = new_layer(workspace)
    gaps: frozenset[Promise] = frozenset({"secrets", "processes", "protected_paths"})
    policy = msgspec.structs.replace(policy_for("read-only", workspace, CAREFUL), accepted_gaps=gaps)
    fence = Fence(policy, adapters_named("landlock"), {}).over(layer.tree)
    with pytest.raises(SandboxError, match="cannot lay anything over a workspace"):
        fence.plan(ProcessRequest(argv=("/bin/true",), cwd=workspace))


def cli(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(PROGRAM), "sandbox", *words], capture_output=True, text=True, check=False, timeout=60)


def laid(workspace: Path, script: str) -> str:
    """The name of the layer that a command wrote to."""
    done = cli("exec", "--workspace", str(workspace), "--overlay", "--", "/bin/sh", "-c", script)
    found = re.search(r"sandbox commit ([0-9a-f]{12})", done.stderr)
    assert found, done.stderr
    return found[1]


def test_the_command_line_tells_how_many_changed_and_where(workspace: Path) -> None:
    words = (
        "exec",
        "--workspace",
        str(workspace),
        "--overlay",
        "--",
        "/bin/sh",
        "-c",
        "echo x > new; rm README; exit 5",
    )
    done = cli(*words)
    assert done.returncode == 5
    assert f"2 changes in {workspace}/.skills_runtime_sdk/layers/" in done.stderr
    assert "- README\n+ new\n" in done.stderr
    assert (workspace / "README").exists()


def test_diff_commit_and_discard_by_the_command_line(workspace: Path) -> None:
    first, second = laid(workspace, "echo x > new"), laid(workspace, "echo y > other")
    place = ("--workspace", str(workspace))
    assert "+x" in cli("diff", first, *place).stdout
    assert '"path": "new"' in cli("diff", first, *place, "--json").stdout
    assert cli("commit", first, *place).stdout.startswith("1 change: put into")
    assert cli("discard", second, *place).returncode == 0
    assert (workspace / "new").read_text() == "x\n"
    assert not (workspace / "other").exists()
    assert not (workspace / ".skills_runtime_sdk").exists()


def test_a_conflict_has_its_own_exit_code_and_force_goes_over_it(workspace: Path) -> None:
    name = laid(workspace, "echo ours > README")
    (workspace / "README").write_text("theirs\n")
    refused = cli("commit", name, "--workspace", str(workspace))
    assert refused.returncode == 24
    assert "changed meanwhile in the workspace: README" in refused.stderr
    assert (workspace / "README").read_text() == "theirs\n"
    assert cli("commit", name, "--workspace", str(workspace), "--force").returncode == 0
    assert (workspace / "README").read_text() == "ours\n"


def test_a_command_that_changes_nothing_leaves_no_layer(workspace: Path) -> None:
    done = cli("exec", "--workspace", str(workspace), "--overlay", "--", "/bin/true")
    assert (done.returncode, done.stderr) == (0, "nothing changed\n")
    assert not (workspace / ".skills_runtime_sdk").exists()


def test_a_refusal_leaves_no_layer(workspace: Path) -> None:
    done = cli("exec", "--workspace", str(workspace), "--overlay", "--bwrap", "no-such-bwrap", "--", "/bin/true")
    assert done.returncode == 24
    assert not (workspace / ".skills_runtime_sdk").exists()
