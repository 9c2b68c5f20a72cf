"""git works in repositories that existed, and what it obeys in them stays as it was."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from skills_runtime.sandbox.quarantine import accept
from tests.e2e.sandbox.arena import state_beside
from tests.e2e.sandbox.attempt import snapshot
from tests.e2e.sandbox.commands import git, moved, repository, run, said
from tests.support.users import Unprivileged

WORK = {
    "add and commit": "echo more >> file.txt; git add file.txt; git commit -qm second; git log --oneline | grep second",
    "commit all": "echo more >> file.txt; git commit -qam second; test -z \"$(git status --porcelain)\"",
    "branch": "git branch topic; git checkout -q topic; git switch -qc other; git branch -D topic",
    "stash": "echo more >> file.txt; git stash -q; grep -v more file.txt; git stash pop -q; grep more file.txt",
    "rebase": "git checkout -qb topic; echo a > a; git add a; git commit -qm a; git checkout -q main; echo b > b;"
    " git add b; git commit -qm b; git rebase -q main topic; test -e a -a -e b",
    "merge": "git checkout -qb topic; echo a > a; git add a; git commit -qm a; git checkout -q main;"
    " git merge -q --no-ff -m merged topic",
    "tag": "git tag one; git tag -am note two; git describe | grep two",
    "reset and restore": "echo x > file.txt; git restore file.txt; git commit -q --allow-empty -m x;"
    " git reset -q --hard HEAD~1",
    "cherry-pick": "git checkout -qb topic; echo a > a; git add a; git commit -qm a; git checkout -q main;"
    " git cherry-pick topic",
    "collect garbage": "git commit -q --allow-empty -m x; git gc -q; git fsck",
    "note": "git notes add -m note; git notes show",
}  # fmt: skip


def control(workspace: Path) -> dict[str, str]:
    """What git obeys in the repository."""
    found = snapshot(workspace / ".git")
    return {name: text for name, text in found.items() if name == "config" or name.startswith("hooks")}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return repository(tmp_path.resolve() / "workspace")


def _work(workspace: Path, line: str) -> None:
    before = control(workspace)
    finished = run(workspace, line)
    assert finished.exit_code == 0, said(finished)
    assert moved(workspace, finished) == []
    assert control(workspace) == before
    git(workspace, "fsck")


@pytest.mark.parametrize("name", sorted(WORK))
def test_everyday_git_works(name: str, workspace: Path) -> None:
    _work(workspace, WORK[name])


def test_everyday_git_works_for_an_ordinary_user(unprivileged: Unprivileged) -> None:
    def work() -> None:
        for name, line in WORK.items():
            _work(repository(unprivileged.path / name.replace(" ", "-")), line)

    unprivileged(work)


def test_git_works_in_a_directory_of_the_workspace_and_in_a_nested_repository(workspace: Path) -> None:
    repository(workspace / "vendor/library")
    finished = run(workspace, "mkdir src; cd src; echo x > x; git add x; git commit -qm x; cd ../vendor/library;"
                   " echo y > y; git add y; git commit -qm y")  # fmt: skip
    assert finished.exit_code == 0, said(finished)
    assert git(workspace / "vendor/library", "log", "--format=%s").split() == ["y", "first"]


def test_git_works_in_a_submodule(workspace: Path, tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin")
    git(workspace, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(origin), "library")
    git(workspace, "commit", "-qm", "submodule")
    finished = run(workspace, "cd library; echo y > y; git add y; git commit -qm y; cd ..; git commit -qam bump")
    assert finished.exit_code == 0, said(finished)
    refused = run(workspace, "echo x > .git/modules/library/hooks/post-checkout || echo refused")
    assert "refused" in said(refused)


def test_git_works_in_a_further_work_tree(workspace: Path) -> None:
    git(workspace, "worktree", "add", "-q", "-b", "topic", "tree")
    finished = run(workspace, "cd tree; echo y > y; git add y; git commit -qm y")
    assert finished.exit_code == 0, said(finished)
    assert "y" in git(workspace, "log", "--format=%s", "topic").split()
    assert run(workspace, "echo x > .git/worktrees/tree/commondir").exit_code != 0
    assert run(workspace, "echo x > tree/.git").exit_code != 0


CHANGES: dict[str, Callable[[str], str]] = {
    "write": lambda name: f"echo changed > .git/{name}",
    "append": lambda name: f"echo changed >> .git/{name}",
    "remove": lambda name: f"rm -rf .git/{name}",
    "rename": lambda name: f"mv .git/{name} .git/aside",
    "replace": lambda name: f"echo changed > new; mv -f new .git/{name}",
    "move the repository": lambda name: f"mv .git aside; mkdir .git; echo changed > .git/{name}",
}


@pytest.mark.parametrize("name", ["config", "hooks/pre-commit", "info/attributes", "config.worktree"])
@pytest.mark.parametrize("change", sorted(CHANGES))
def test_what_git_obeys_stays_as_it_was(name: str, change: str, workspace: Path) -> None:
    path = workspace / ".git" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(path.read_text() if path.exists() else "# as it was\n")
    before = path.read_text()
    run(workspace, CHANGES[change](name))
    assert path.read_text() == before


@pytest.mark.parametrize("line", ["git config core.pager x", "git config alias.x '!id'", "git remote add o /x"])
def test_git_s_own_commands_do_not_change_its_configuration(line: str, workspace: Path) -> None:
    before = control(workspace)
    run(workspace, line)
    assert control(workspace) == before


@pytest.mark.parametrize("name", ["hooks", "config.worktree", "commondir", "info/attributes"])
def test_what_git_would_obey_does_not_stay_when_it_is_made(name: str, workspace: Path) -> None:
    path = workspace / ".git" / name
    subprocess.run(["rm", "-rf", str(path)], check=True)
    finished = run(workspace, f"mkdir -p $(dirname .git/{name}); echo changed > .git/{name}")
    assert moved(workspace, finished) == [f".git/{name}"]
    assert not path.exists()


def test_creating_a_repository_works_and_ends_in_quarantine(workspace: Path) -> None:
    line = "git init -q made; cd made; echo x > x; git add x; git commit -qm x; git log --oneline | wc -l"
    finished = run(workspace, line)
    assert (finished.exit_code, finished.stdout.text()) == (0, "1\n"), said(finished)
    assert moved(workspace, finished) == ["made/.git"]
    assert (workspace / "made/x").read_text() == "x\n"
    accept(state_beside(workspace) / "quarantine")
    assert git(workspace / "made", "log", "--format=%s") == "x\n"
    again = run(workspace, "cd made; echo y > y; git add y; git commit -qm y")
    assert (again.exit_code, moved(workspace, again)) == (0, []), said(again)


def test_cloning_works_and_ends_in_quarantine(workspace: Path) -> None:
    finished = run(workspace, "git clone -q . copy; cd copy; git log --oneline")
    assert finished.exit_code == 0, said(finished)
    assert moved(workspace, finished) == ["copy/.git"]
    bare = run(workspace, "git clone -q --bare . copy.git")
    assert moved(workspace, bare) == ["copy.git"]


def test_creating_a_repository_in_a_plain_workspace_ends_in_quarantine(tmp_path: Path) -> None:
    workspace = tmp_path.resolve() / "plain"
    workspace.mkdir()
    finished = run(workspace, "git init -q; touch x; git add x; git commit -qm x")
    assert finished.exit_code == 0, said(finished)
    assert moved(workspace, finished) == [".git"]
    assert [path.name for path in workspace.iterdir()] == ["x"]


def test_adding_a_work_tree_works_and_ends_in_quarantine(workspace: Path) -> None:
    finished = run(workspace, "git worktree add -q -b topic tree; cd tree; echo y > y; git add y; git commit -qm y")
    assert finished.exit_code == 0, said(finished)
    assert "tree/.git" in moved(workspace, finished)
    assert not (workspace / ".git/worktrees/tree/commondir").exists()
    accept(state_beside(workspace) / "quarantine")
    assert git(workspace / "tree", "log", "--format=%s").split() == ["y", "first"]
    assert git(workspace, "worktree", "list").count("\n") == 2


def test_commits_are_by_the_user(workspace: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text('[user]\n\tname = "A User"\n\temail = a@example.com\n[core]\n\tpager = evil\n')
    finished = run(workspace, "git commit -q --allow-empty -m x; git config core.pager || echo none",
                   {"HOME": str(home)})  # fmt: skip
    assert "none" in finished.stdout.text(), said(finished)
    assert git(workspace, "log", "-1", "--format=%an <%ae>") == "A User <a@example.com>\n"


def test_without_a_name_commits_are_by_the_agent(workspace: Path) -> None:
    assert run(workspace, "git commit -q --allow-empty -m x").exit_code == 0
    assert git(workspace, "log", "-1", "--format=%an <%ae>") == "agent <agent@localhost>\n"


@pytest.mark.parametrize(
    ("setting", "value", "name"),
    [
        ("core.hooksPath", ".githooks", ".githooks/pre-commit"),
        ("core.hooksPath", ".git/shared", ".git/shared/pre-commit"),
        ("core.fsmonitor", "tools/monitor", "tools/monitor"),
        ("include.path", "../shared/git.inc", "shared/git.inc"),
        ("include.path", "extra", ".git/extra"),
        ("filter.f.clean", "python3 tools/clean.py", "tools/clean.py"),
        ("diff.d.textconv", "tools/show", "tools/show"),
        ("merge.m.driver", "tools/merge %O %A %B", "tools/merge"),
        ("core.sshCommand", "tools/ssh", "tools/ssh"),
    ],
)  # fmt: skip
class TestWhatTheConfigurationNames:
    def test_is_read_only(self, setting: str, value: str, name: str, workspace: Path) -> None:
        git(workspace, "config", setting, value)
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("")
        top = name.partition("/")[0]
        for line in (f"echo changed > {name}", f"rm {name}", f"mv {top} aside", f"echo c > new; mv new {name}"):
            assert run(workspace, line).exit_code != 0, line
        assert (workspace / name).read_text() == ""

    def test_does_not_stay_when_it_is_made(self, setting: str, value: str, name: str, workspace: Path) -> None:
        git(workspace, "config", setting, value)
        finished = run(workspace, f"mkdir -p $(dirname {name}); echo changed > {name}")
        assert moved(workspace, finished), said(finished)
        assert not (workspace / name).exists()


def test_secrets_that_are_hidden_are_committed_as_they_were_or_not_at_all(workspace: Path) -> None:
    (workspace / "a b").mkdir()
    for name in ("a b/tracked [1].key", ".env.production"):
        (workspace / name).write_text(f"secret of {name}\n")
    git(workspace, "add", ".")
    git(workspace, "commit", "-qm", "secrets")
    for name in (".env", "a b/new one.key"):
        (workspace / name).write_text("never committed\n")
    finished = run(workspace, "echo more >> file.txt; git add -A; git commit -qam second; cat .env.production")
    assert (finished.exit_code, finished.stdout.text()) == (0, ""), said(finished)
    assert git(workspace, "show", "--format=", "--name-only", "HEAD").split() == ["file.txt"]
    assert git(workspace, "status", "--porcelain").splitlines() == ["?? .env", '?? "a b/new one.key"']
