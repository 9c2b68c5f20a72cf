"""Ways to files outside, to secrets and to what programs outside obey, that take more than one step."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from skills_runtime.errors import SandboxError
from skills_runtime.ports import ProcessRequest, SandboxPlan
from skills_runtime.processes import Command, Limits, execute
from skills_runtime.sandbox import CAREFUL, OsSandbox, build_policy, find_adapters
from tests.e2e.sandbox.arena import ORIGINAL, PYTHON, SECRET, Arena, new_arena, state_beside

PROGRAM = Path(sys.executable).parent / "skills-runtime"
GIT = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    made = new_arena(tmp_path)
    yield made
    made.close()


def _plan(workspace: Path, code: str, readable: tuple[Path, ...] = ()) -> SandboxPlan:
    fence = OsSandbox(
        build_policy("workspace-write", workspace, CAREFUL),
        find_adapters("bubblewrap"),
        {},
        state=state_beside(workspace),
    )
    argv = (PYTHON, "-I", "-S", "-c", code)
    return fence.plan(ProcessRequest(argv=argv, cwd=workspace, environment={}, readable=readable))


def _done(plan: SandboxPlan) -> str:
    command = Command(plan.argv, plan.cwd, plan.environment, setup=plan.setup)
    finished = asyncio.run(execute(command, Limits(wall_seconds=20.0, grace_seconds=0.2)))
    return finished.stdout.text()


@pytest.mark.parametrize("skipped", ["node_modules", ".cache", "venv"])
def test_a_secret_is_not_moved_to_an_unprotected_path(skipped: str, arena: Arena) -> None:
    arena.run(f"os.makedirs({skipped!r}, exist_ok=True); os.rename('src', '{skipped}/src')")
    outcome = arena.run(f"print(read('{skipped}/src/.env.production'))")
    assert SECRET not in outcome.stdout


def test_a_secret_is_not_carried_too_deep_to_be_found(arena: Arena) -> None:
    arena.run("os.makedirs('1/2/3/4/5/6/7/8/9'); os.rename('src', '1/2/3/4/5/6/7/8/9/src')")
    outcome = arena.run("print(read('1/2/3/4/5/6/7/8/9/src/.env.production'))")
    assert SECRET not in outcome.stdout


def test_a_directory_whose_time_was_set_back_is_looked_at_again(arena: Arena) -> None:
    (arena.workspace / "library").mkdir()
    for place in (arena.workspace / "library", arena.workspace):
        os.utime(place, (1, 1))
    arena.run("pass")
    arena.run(
        "seen = os.stat('library'); os.rename('src', 'library/src')\n"
        "os.utime('library', ns=(seen.st_atime_ns, seen.st_mtime_ns))"
    )
    outcome = arena.run("print(read('library/src/.env.production'))")
    assert SECRET not in outcome.stdout


def test_a_directory_that_became_a_link_before_the_start_opens_nothing(arena: Arena) -> None:
    swapped = arena.workspace / "swapped"
    (swapped / ".vscode").mkdir(parents=True)
    (arena.outside / ".vscode").mkdir()
    plan = _plan(arena.workspace, "open('../outside/file.txt', 'w').write('changed')", readable=(arena.outside,))
    # A command that runs in the same workspace at the same time can do this at any moment.
    swapped.rename(arena.workspace / "aside")
    swapped.symlink_to("../outside")
    with pytest.raises(SandboxError):
        _done(plan)
    assert (arena.outside / "file.txt").read_text() == ORIGINAL


@pytest.mark.parametrize("place", ["node_modules/package", "venv/src/package"])
def test_a_secret_among_others_code_is_hidden(place: str, arena: Arena) -> None:
    (arena.workspace / place).mkdir(parents=True)
    (arena.workspace / place / ".env").write_text(SECRET)
    assert SECRET not in arena.run(f"print(read('{place}/.env'))").stdout


@pytest.mark.parametrize("place", ["node_modules/package", "venv/src/package"])
def test_a_repository_among_others_code_keeps_its_hooks(place: str, arena: Arena) -> None:
    (arena.workspace / place / ".git/hooks").mkdir(parents=True)
    arena.run(f"write('{place}/.git/hooks/pre-commit')")
    assert not (arena.workspace / place / ".git/hooks/pre-commit").exists()


def test_a_secret_is_hidden_by_every_name_it_has(arena: Arena) -> None:
    os.link(arena.workspace / ".env", arena.workspace / "other-name")
    assert SECRET not in arena.run("print(read('other-name'))").stdout


def test_a_workspace_does_not_become_a_repository_of_the_command(tmp_path: Path) -> None:
    workspace = tmp_path / "plain"
    workspace.mkdir()
    code = (
        "import os\nfor name in ('objects', 'refs'): os.mkdir(name)\n"
        "open('HEAD', 'w').write('ref: refs/heads/main\\n')\n"
        "open('config', 'w').write('[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = .\\n')"
    )
    _done(_plan(workspace, code))
    asked = subprocess.run(
        ["git", "rev-parse", "--git-dir"], cwd=workspace, env=GIT, capture_output=True, text=True, check=False
    )
    assert asked.returncode != 0, "git would now obey a configuration that the command wrote"


@pytest.mark.parametrize("name", ["hooks/post-receive", "config"])
def test_a_bare_repository_as_workspace_keeps_hooks_and_configuration(name: str, tmp_path: Path) -> None:
    workspace = tmp_path / "bare.git"
    subprocess.run(["git", "init", "-q", "--bare", str(workspace)], env=GIT, check=True)
    before = (workspace / name).read_text() if (workspace / name).exists() else None
    _done(_plan(workspace, f"open({name!r}, 'a').write('changed')"))
    assert ((workspace / name).read_text() if (workspace / name).exists() else None) == before


@pytest.mark.parametrize(
    "name", [".config/gh/hosts.yml", ".config/gcloud/key.json", ".npmrc", ".cargo/credentials.toml", ".bash_history",
             ".vault-token", ".local/share/keyrings/login"]
)  # fmt: skip
def test_what_no_grant_opens_is_hidden_in_a_home_directory_too(name: str, arena: Arena) -> None:
    (arena.workspace / name).parent.mkdir(parents=True, exist_ok=True)
    (arena.workspace / name).write_text(SECRET)
    assert SECRET not in arena.run(f"print(read({name!r}))").stdout


def test_evidence_is_not_written_through_a_planted_link(arena: Arena) -> None:
    words = [PROGRAM, "sandbox", "exec", "--evidence", "evidence.json", "--", "ln", "-s", "../outside/file.txt"]
    subprocess.run([*words, "evidence.json"], cwd=arena.workspace, capture_output=True, check=False, timeout=60)
    assert (arena.outside / "file.txt").read_text() == ORIGINAL
