"""What commands make and programs outside would obey does not stay, and nothing of ours stands there meanwhile."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from skills_runtime.ports import ProcessRequest
from skills_runtime.processes import Finished, PtySession, execute
from skills_runtime.sandbox.quarantine import accept
from tests.e2e.sandbox.arena import state_beside
from tests.e2e.sandbox.attempt import snapshot
from tests.e2e.sandbox.commands import LIMITS, command, fence, moved, plan, repository, run, said
from tests.support.users import Unprivileged

PROGRAM = Path(sys.executable).parent / "skills-runtime"
KINDS = {
    ".git": "git init -q",
    "sub/.git": "git init -q sub",
    "module/.git": "mkdir module; echo 'gitdir: ../elsewhere' > module/.git",
    "linked/.git": "mkdir linked; ln -s /etc linked/.git",
    "bare": "git init -q --bare bare",
    "split": "mkdir -p split store/objects store/refs; echo 'ref: refs/heads/x' > split/HEAD;"
    " echo ../store > split/commondir",
    ".hg": "mkdir .hg; echo '[hooks]' > .hg/hgrc",
    ".vscode": "mkdir .vscode; echo {} > .vscode/tasks.json",
    "deep/.idea": "mkdir -p deep/.idea",
    ".envrc": "echo 'touch x' > .envrc",
    ".devcontainer": "mkdir .devcontainer",
    ".husky": "mkdir .husky",
    "team.code-workspace": "echo {} > team.code-workspace",
    ".npmrc": "echo script-shell=x > .npmrc",
    ".yarnrc.yml": "echo yarnPath: x > .yarnrc.yml",
    ".env": "echo OPENAI_BASE_URL=http://x > .env",
    "sub2/.env.local": "mkdir sub2; echo A=1 > sub2/.env.local",
    "config/runtime.yaml": "mkdir config; echo 'llm: {}' > config/runtime.yaml",
    "config/rules.yaml": "mkdir config; echo 'rules: []' > config/rules.yaml",
    "kgent.yaml": "echo 'llm: {}' > kgent.yaml",
    ".skills_runtime_sdk": "mkdir -p .skills_runtime_sdk/approvals",
    ".claude": "mkdir .claude",
    ".mcp.json": "echo {} > .mcp.json",
}  # fmt: skip


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "workspace"
    made.mkdir()
    (made / "file.txt").write_text("x")
    return made


def _try(workspace: Path, name: str) -> None:
    before = snapshot(workspace)
    finished = run(workspace, KINDS[name])
    assert finished.exit_code == 0, said(finished)
    assert moved(workspace, finished) == [name]
    assert not os.path.lexists(workspace / name)
    assert before.items() <= snapshot(workspace).items()
    accept(state_beside(workspace) / "quarantine")
    assert os.path.lexists(workspace / name)
    assert moved(workspace, run(workspace, "true")) == []


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_new_file_that_is_obeyed_is_moved_and_put_back_when_accepted(name: str, workspace: Path) -> None:
    _try(workspace, name)


def test_the_same_holds_for_an_ordinary_user(unprivileged: Unprivileged) -> None:
    def work() -> None:
        for number, name in enumerate(KINDS):
            (unprivileged.path / str(number)).mkdir()
            _try(unprivileged.path / str(number), name)

    unprivileged(work)


@pytest.mark.parametrize("name", ["config/runtime.yaml", "config/rules.yaml", "kgent.yaml", ".env", ".envrc", ".npmrc"])
@pytest.mark.parametrize("line", ["echo changed > {}", "rm -f {}", "mv {} aside", "echo c > new; mv -f new {}"])
def test_what_the_next_run_obeys_cannot_be_changed(name: str, line: str, workspace: Path) -> None:
    path = workspace / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("as it was")
    assert run(workspace, line.format(name)).exit_code != 0
    assert path.read_text() == "as it was"


def test_the_directory_of_the_configuration_keeps_its_place(workspace: Path) -> None:
    (workspace / "config").mkdir()
    (workspace / "config/runtime.yaml").write_text("as it was")
    finished = run(workspace, "touch config/other; mv config aside; mkdir -p config; echo x > config/runtime.yaml")
    assert finished.exit_code != 0
    assert (workspace / "config/runtime.yaml").read_text() == "as it was"
    assert (workspace / "config/other").exists()


@asynccontextmanager
async def waiting(workspace: Path, before: str = "true") -> "AsyncGenerator[asyncio.Task[Finished]]":
    """A command that has done something and waits until the end of the block."""
    (workspace / "ready").unlink(missing_ok=True)
    line = f"{before}; touch ready; while test -e ready; do sleep 0.02; done"
    running = asyncio.create_task(execute(command(plan(workspace, line)), LIMITS))
    async with asyncio.timeout(30):
        while not (workspace / "ready").exists():
            assert not running.done(), running.result()
            await asyncio.sleep(0.02)
        yield running
        (workspace / "ready").unlink()
        await running


async def test_nothing_of_ours_stands_in_the_tree_while_a_command_runs(workspace: Path) -> None:
    repository(workspace)
    (workspace / ".env").write_text("KEY=1")
    before = snapshot(workspace)
    async with waiting(workspace):
        assert snapshot(workspace) == {**before, "ready": ""}
    assert snapshot(workspace) == before


async def test_nothing_of_ours_stands_in_the_tree_while_a_session_runs(workspace: Path) -> None:
    before = snapshot(workspace)
    request = ProcessRequest(argv=("/bin/bash", "--norc", "-i"), cwd=workspace, terminal=True)
    session = await PtySession.start(command(fence(workspace).plan(request)))
    try:
        await session.write(b"git init -q; touch ready\n")
        async with asyncio.timeout(30):
            while not (workspace / "ready").exists():
                await asyncio.sleep(0.02)
        added = {name.split("/")[0] for name in snapshot(workspace).keys() - before.keys()}
        assert added == {".git", "ready"}
        await session.write(b"exit\n")
        await session.read(timeout_ms=20_000)
    finally:
        status = await session.close()
    assert [Path(one.path).name for one in status.quarantined] == [".git"]
    assert snapshot(workspace) == {**before, "ready": ""}


async def test_what_another_command_has_made_is_not_known_to_one_that_starts_meanwhile(workspace: Path) -> None:
    async with waiting(workspace, "mkdir .vscode") as first:
        line = "touch second; while test -e .vscode; do sleep 0.02; done; mkdir .vscode; touch .vscode/tasks.json"
        second = asyncio.create_task(execute(command(plan(workspace, line)), LIMITS))
        while not (workspace / "second").exists():
            await asyncio.sleep(0.02)
        assert not first.done()
    assert [Path(one.path).name for one in (await second).quarantined] == [".vscode"]
    assert not (workspace / ".vscode").exists()


async def test_a_secret_in_what_another_command_has_made_is_hidden(workspace: Path) -> None:
    for place in ("app", "other"):
        (workspace / place).mkdir()
        (workspace / place / ".env").write_text("hush")
    made = "mkdir q; mv app q/.git; cd other; mkdir objects refs; touch HEAD; cd .."
    async with waiting(workspace, made):
        finished = await execute(command(plan(workspace, "cat q/.git/.env other/.env")), LIMITS)
        assert (finished.exit_code, said(finished)) == (0, "")


KILLED = """
import asyncio, sys
from pathlib import Path
from tests.e2e.sandbox.commands import LIMITS, command, plan
from skills_runtime.processes import execute
workspace = Path(sys.argv[1])
line = "git init -q; mkdir .vscode; touch ready; sleep 600"
asyncio.run(execute(command(plan(workspace, line)), LIMITS))
"""


def test_what_a_killed_runtime_could_not_compare_is_compared_before_the_next_command(workspace: Path) -> None:
    root = Path(__file__).parents[3]
    with subprocess.Popen([sys.executable, "-c", KILLED, str(workspace)], cwd=root) as runtime:
        while not (workspace / "ready").exists():
            assert runtime.poll() is None
            os.sched_yield()
        runtime.kill()
    assert (workspace / ".git").exists()
    planned = plan(workspace, "ls -A")
    names = sorted(Path(one["path"]).name for one in planned.evidence["quarantined"])
    assert names == [".git", ".vscode"]
    finished = asyncio.run(execute(command(planned), LIMITS))
    assert finished.stdout.text().split() == ["file.txt", "ready"]
    assert "quarantined" not in plan(workspace, "true").evidence


LOCKS = {
    "links": "for n in .git .vscode .hg .envrc a.code-workspace; do ln -s /etc $n; mkdir -p d; ln -s ../$n d/$n; done",
    "a loop": "ln -s .git .git; ln -s b/.vscode .vscode; ln -s . .idea",
    "links on the way": "mkdir x; touch x/runtime.yaml; ln -s x config",
    "long paths": "n=$(printf 'a%.0s' $(seq 200)); for i in $(seq 25); do mkdir $n; cd $n; done; mkdir .git",
    "secrets": "mkdir d; for i in $(seq 3000); do : > .env.$i; : > d/.env.$i; done",
    "many directories": "for i in $(seq 60); do mkdir -p d$i/a/b/.git d$i/c/.vscode; done",
    "runs": "mkdir -p r; for i in $(seq 70); do mkdir r/$i;"
    " (cd r/$i; touch events.jsonl run.json run.lock sandbox-manifest.json); done",
    "a closed directory": "mkdir -p d/.git; chmod 0 d/.git d",
    "keys": "for i in $(seq 4000); do : > $i.key; done",
}  # fmt: skip


def _lock(workspace: Path, name: str) -> None:
    run(workspace, LOCKS[name])
    finished = run(workspace, "echo written > file.txt; cat file.txt")
    assert (finished.exit_code, finished.stdout.text()) == (0, "written\n"), said(finished)
    if os.path.lexists(workspace / "d"):
        (workspace / "d").chmod(0o755)


@pytest.mark.parametrize("name", sorted(LOCKS))
def test_no_command_locks_the_workspace_for_later_ones(name: str, workspace: Path) -> None:
    _lock(workspace, name)


def test_no_command_of_an_ordinary_user_locks_it_either(unprivileged: Unprivileged) -> None:
    def work() -> None:
        for name in LOCKS:
            place = unprivileged.path / name.replace(" ", "-")
            place.mkdir()
            _lock(place, name)

    unprivileged(work)


def test_links_in_a_repository_lock_nothing(tmp_path: Path) -> None:
    workspace = repository(tmp_path.resolve() / "workspace")
    line = "mv .git/info .git/i; mkdir e; touch e/attributes; ln -s ../e .git/info; ln -s ../e .git/modules"
    assert moved(workspace, run(workspace, line)) == [".git/info", ".git/modules"]
    assert run(workspace, "git status").exit_code == 0


class TestRuns:
    @pytest.fixture
    def workspace(self, tmp_path: Path) -> Path:
        made = tmp_path.resolve() / "workspace"
        for place in ("runs/x", "elsewhere/y", ".skills_runtime_sdk/runs/z"):
            (made / place).mkdir(parents=True)
            for name in ("events.jsonl", "run.json", "run.lock", "sandbox-manifest.json"):
                (made / place / name).write_text("hush")
        (made / ".skills_runtime_sdk/runs/y").symlink_to(made / "elsewhere/y")
        (made / "elsewhere/y/run.json").unlink()
        return made

    @pytest.mark.parametrize("place", ["runs/x", "elsewhere/y", ".skills_runtime_sdk/runs/z"])
    def test_are_private_wherever_they_are(self, place: str, workspace: Path) -> None:
        finished = run(workspace, f"cat {place}/* .skills_runtime_sdk/runs/*/* 2> /dev/null; echo x > {place}/new")
        assert "hush" not in said(finished)
        assert finished.exit_code != 0
        assert not (workspace / place / "new").exists()
        assert (workspace / place / "events.jsonl").read_text() == "hush"

    def test_cannot_be_moved(self, workspace: Path) -> None:
        run(workspace, "mv runs aside; mv elsewhere aside2")
        assert "hush" not in said(run(workspace, "cat aside*/*/*"))


@pytest.mark.parametrize("name", ["id_rsa", "server.key", "deploy.pem", "credentials.json", "x.p12"])
def test_a_file_with_a_key_is_not_read(name: str, workspace: Path) -> None:
    (workspace / "deep").mkdir()
    (workspace / "deep" / name).write_text("-----BEGIN RSA PRIVATE KEY-----\nhush\n")
    assert "hush" not in said(run(workspace, f"cat deep/{name}"))
    run(workspace, "mkdir -p node_modules; mv deep node_modules/deep")
    assert "hush" not in said(run(workspace, f"cat deep/{name} node_modules/deep/{name} || true"))


def test_the_command_line_tells_what_was_moved(workspace: Path, tmp_path: Path) -> None:
    evidence = tmp_path / "evidence.json"
    words = [PROGRAM, "sandbox", "exec", "--workspace", workspace, "--evidence", evidence, "--", "git", "init", "-q"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"`{workspace}/.git`" in done.stderr
    assert [one["path"] for one in json.loads(evidence.read_text())["quarantined"]] == [f"{workspace}/.git"]
