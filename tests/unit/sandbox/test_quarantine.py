"""What a command has made and programs outside would obey is moved aside, told of, and put back when accepted."""

import os
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.ports import Quarantine, Quarantined
from skills_runtime.sandbox import protected_paths
from skills_runtime.sandbox.policy import SandboxPolicy, build_policy
from skills_runtime.sandbox.protected_paths import scan_policy
from skills_runtime.sandbox.quarantine import (
    MAX_LISTED,
    MAX_SECRETS,
    accept,
    finish_record,
    list_items,
    plan_quarantine,
    quarantine_new_files,
    quarantine_report,
    record_command,
    recover,
)
from skills_runtime.storage import release_lock
from tests.support.users import Unprivileged
from tests.unit.sandbox.test_protected_paths import OBEYED, make

BARE = ("HEAD", "objects/", "refs/", "config")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = (tmp_path / "workspace").resolve()
    made.mkdir()
    return made


def before(workspace: Path, **changes: Any) -> Quarantine:
    """What is known at the start of a command."""
    policy: SandboxPolicy = msgspec.structs.replace(build_policy("workspace-write", workspace), **changes)
    state = workspace.with_name("state")
    found = plan_quarantine(policy, scan_policy(policy), state / "quarantine", state / "running")
    assert found is not None
    return found


def names(workspace: Path, found: tuple[Quarantined, ...]) -> set[str]:
    assert all(one.problem == "" and os.path.lexists(one.moved_to) for one in found), found
    return {str(Path(one.path).relative_to(workspace)) for one in found}


@pytest.mark.parametrize("place", ["", "src/deep/"])
@pytest.mark.parametrize("name", OBEYED)
def test_what_is_new_and_would_be_obeyed_is_moved(name: str, place: str, workspace: Path) -> None:
    make(workspace, "src/main.py")
    known = before(workspace)
    make(workspace, place + name)
    assert names(workspace, quarantine_new_files(known)) == {f"{place}{name}".rstrip("/")}
    assert not os.path.lexists(workspace / place / name.rstrip("/"))
    assert (workspace / "src/main.py").exists()


@pytest.mark.parametrize("name", ["config/runtime.yaml", "config/rules.yaml", "kgent.yaml"])
def test_so_is_what_the_next_run_would_obey(name: str, workspace: Path) -> None:
    known = before(workspace)
    make(workspace, name)
    assert names(workspace, quarantine_new_files(known)) == {name}


@pytest.mark.parametrize(
    "name", ["hooks/", "config", "config.worktree", "commondir", "gitdir", "info/attributes", "modules/m/hooks/",
             "modules/a/b/config", "worktrees/w/commondir"]
)  # fmt: skip
def test_so_is_what_git_would_obey_in_a_repository_that_existed(name: str, workspace: Path) -> None:
    make(workspace, ".git/HEAD", ".git/objects/")
    known = before(workspace)
    make(workspace, f".git/{name}", ".git/index", ".git/refs/heads/new", ".git/logs/HEAD", ".git/objects/ab/c")
    assert names(workspace, quarantine_new_files(known)) == {f".git/{name}".rstrip("/")}
    assert (workspace / ".git/refs/heads/new").exists()


def test_so_is_what_its_configuration_names(workspace: Path) -> None:
    make(workspace, ".git/HEAD")
    (workspace / ".git/config").write_text("[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../extra\n")
    known = before(workspace)
    make(workspace, "tools/hooks/pre-commit", "extra", "tools/other")
    assert names(workspace, quarantine_new_files(known)) == {"tools/hooks", "extra"}


@pytest.mark.parametrize("parts", [BARE, ("HEAD", "commondir")])
def test_so_is_a_repository_by_any_name(parts: tuple[str, ...], workspace: Path) -> None:
    known = before(workspace)
    make(workspace, *(f"innocent/{part}" for part in parts))
    assert names(workspace, quarantine_new_files(known)) == {"innocent"}


def test_of_what_becomes_a_repository_only_the_head_is_moved(workspace: Path) -> None:
    make(workspace, "src/main.c")
    known = before(workspace)
    make(workspace, *(f"src/{part}" for part in BARE[:3]))
    assert names(workspace, quarantine_new_files(known)) == {"src/HEAD"}
    assert (workspace / "src/main.c").exists()


def test_a_repository_that_existed_stays_one_whatever_is_put_into_it(workspace: Path) -> None:
    make(workspace, *(f"mirror/{part}" for part in BARE))
    known = before(workspace)
    make(workspace, "mirror/notes")
    assert quarantine_new_files(known) == ()
    known = before(workspace)
    (workspace / "mirror/notes").unlink()
    assert quarantine_new_files(known) == ()


def test_the_workspace_itself_does_not_become_a_repository(workspace: Path) -> None:
    make(workspace, "src/main.c")
    known = before(workspace)
    make(workspace, *BARE)
    assert names(workspace, quarantine_new_files(known)) == {"HEAD", "config"}


@pytest.mark.parametrize("name", [".env.example", ".gitignore", ".gitattributes", "src/.prettierrc", "config/app.yaml"])
def test_ordinary_files_stay(name: str, workspace: Path) -> None:
    known = before(workspace)
    make(workspace, name)
    assert quarantine_new_files(known) == ()
    assert (workspace / name).exists()


def test_what_was_there_before_stays_even_when_the_user_writes_it_anew(workspace: Path) -> None:
    make(workspace, ".vscode/", ".envrc", ".git/config", "team.code-workspace")
    known = before(workspace)
    (workspace / "new").write_text("x")
    (workspace / "new").rename(workspace / ".git/config")  # as `git config` outside does it
    assert quarantine_new_files(known) == ()


def test_what_was_only_moved_with_its_directory_stays(workspace: Path) -> None:
    make(workspace, "app/.env")
    known = before(workspace)
    (workspace / "app").rename(workspace / "service")
    assert quarantine_new_files(known) == ()
    assert (workspace / "service/.env").exists()


def test_what_is_in_a_directory_that_is_moved_goes_with_it(workspace: Path) -> None:
    known = before(workspace)
    make(workspace, "made/.git/config", "made/.git/hooks/", "made/.git/modules/m/HEAD", "made/.git/modules/m/hooks/")
    assert names(workspace, quarantine_new_files(known)) == {"made/.git"}


def test_a_workspace_that_becomes_a_home_keeps_what_the_user_had(workspace: Path) -> None:
    make(workspace, ".vimrc", ".local/bin/tool", ".config/systemd/unit")
    known = before(workspace)
    make(workspace, ".bashrc", ".tmux.conf")
    assert names(workspace, quarantine_new_files(known)) == {".bashrc", ".tmux.conf"}


@pytest.mark.parametrize("name", [".vscode", ".git", ".env", "kgent.yaml", ".git/info"])
@pytest.mark.parametrize("change", ["gone", "directory", "other link"])
def test_a_link_is_put_back(name: str, change: str, workspace: Path) -> None:
    make(workspace, "elsewhere/attributes")
    link = workspace / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(workspace / "elsewhere")
    known = before(workspace)
    link.unlink()
    if change == "directory":
        make(workspace, f"{name}/file")
    elif change == "other link":
        link.symlink_to("/etc")
    moved = names(workspace, quarantine_new_files(known))
    assert moved <= ({name} if change != "gone" else set())
    assert link.readlink() == workspace / "elsewhere"


def test_the_number_of_a_link_that_was_removed_makes_nothing_known(workspace: Path) -> None:
    (workspace / ".vscode").symlink_to("nowhere")
    known = before(workspace)
    (workspace / ".vscode").unlink()
    make(workspace, ".claude/x")  # many file systems give it the number of the link
    assert ".claude" in names(workspace, quarantine_new_files(known))


def test_another_name_of_a_link_is_new(workspace: Path) -> None:
    (workspace / ".vscode").symlink_to("shared")
    known = before(workspace)
    make(workspace, "sub/shared/tasks.json")
    os.link(workspace / ".vscode", workspace / "sub/.vscode", follow_symlinks=False)
    assert names(workspace, quarantine_new_files(known)) == {"sub/.vscode"}


def test_a_new_link_on_the_way_to_what_is_obeyed_is_moved(workspace: Path) -> None:
    known = before(workspace)
    make(workspace, "elsewhere/runtime.yaml")
    (workspace / "config").symlink_to("elsewhere")
    assert names(workspace, quarantine_new_files(known)) == {"config"}


def test_a_file_that_is_no_text_is_moved_and_put_back(workspace: Path) -> None:
    odd = os.fsdecode(b"\xff\xfe")
    known = before(workspace)
    make(workspace, f"{odd}/.vscode/")
    assert names(workspace, quarantine_new_files(known)) == {f"{odd}/.vscode"}
    accept(Path(known.directory))
    assert (workspace / odd / ".vscode").is_dir()


def test_rights_that_were_taken_away_are_in_no_ones_way(unprivileged: Unprivileged) -> None:
    workspace = unprivileged.path / "workspace"

    def run() -> set[str]:
        make(workspace, "private/")
        (workspace / "private").chmod(0o700)
        known = before(workspace)
        make(workspace, "private/.vscode/x")
        (workspace / "private/.vscode").chmod(0)
        (workspace / "private").chmod(0o500)
        return names(workspace, quarantine_new_files(known))

    assert unprivileged(run) == {"private/.vscode"}
    assert stat.S_IMODE((workspace / "private").stat().st_mode) == 0o700


def test_what_could_not_be_scanned_is_reported(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(workspace, "src/")
    known = before(workspace)
    make(workspace, *(f"heap/{number}/deep/" for number in range(20)), "heap/7/deep/.git/")
    monkeypatch.setattr(protected_paths, "MAX_DIRECTORIES", 10)
    assert {one.problem for one in quarantine_new_files(known)} == {"it holds too much to check"}


def test_what_could_not_be_scanned_before_either_is_not_reported_again(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(workspace, *(f"heap/{number}/deep/" for number in range(20)))
    monkeypatch.setattr(protected_paths, "MAX_DIRECTORIES", 10)
    assert quarantine_new_files(before(workspace)) == ()


def test_more_new_keys_than_can_be_covered_are_moved(workspace: Path) -> None:
    make(workspace, "server.key")
    known = before(workspace)
    make(workspace, *(f"{number}.key" for number in range(5)))
    assert quarantine_new_files(known) == ()
    known = before(workspace)
    make(workspace, *(f"more/{number}.key" for number in range(MAX_SECRETS)))
    assert len(quarantine_new_files(known)) == MAX_SECRETS
    assert {path.name for path in workspace.glob("*.key")} == {"server.key", *(f"{number}.key" for number in range(5))}


def test_where_nothing_can_be_written_nothing_is_compared(workspace: Path) -> None:
    policy = build_policy("read-only", workspace)
    assert plan_quarantine(policy, scan_policy(policy), workspace, workspace) is None


def test_what_was_opened_to_writing_is_compared_too(workspace: Path, tmp_path: Path) -> None:
    other = tmp_path.resolve() / "other"
    make(other, "src/")
    known = before(workspace, writable=(other,), opened=(other,))
    make(other, "src/.vscode/")
    assert names(other, quarantine_new_files(known)) == {"src/.vscode"}


class TestCommandsAtOnce:
    def test_what_one_has_made_is_not_known_to_another_that_starts_meanwhile(self, workspace: Path) -> None:
        first = before(workspace)
        recorded = record_command(first)
        make(workspace, ".vscode/")
        second = before(workspace)
        finish_record(first, recorded)
        make(workspace, ".vscode/tasks.json")  # the second one makes it again
        assert names(workspace, quarantine_new_files(second)) == {".vscode"}

    def test_what_both_know_stays(self, workspace: Path) -> None:
        make(workspace, ".vscode/", ".env")
        recorded = record_command(before(workspace))
        second = before(workspace)
        assert quarantine_new_files(second) == ()
        release_lock(recorded.lock)

    def test_what_another_has_moved_is_not_reported_twice(self, workspace: Path) -> None:
        first, second = before(workspace), before(workspace)
        make(workspace, ".vscode/")
        assert names(workspace, quarantine_new_files(first)) == {".vscode"}
        assert quarantine_new_files(second) == ()


class TestRecovery:
    def test_the_command_of_a_runtime_that_is_gone_is_compared(self, workspace: Path) -> None:
        known = before(workspace)
        release_lock(record_command(known).lock)  # as the end of its process does
        make(workspace, ".git/hooks/pre-commit")
        assert names(workspace, recover(Path(known.records))) == {".git"}
        assert list(Path(known.records).iterdir()) == []

    def test_the_command_of_a_runtime_that_lives_is_left_alone(self, workspace: Path) -> None:
        known = before(workspace)
        recorded = record_command(known)
        make(workspace, ".git/")
        assert recover(Path(known.records)) == ()
        assert (workspace / ".git").exists()
        assert names(workspace, finish_record(known, recorded)) == {".git"}

    @pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"roots": 1}'])
    def test_a_record_that_was_never_finished_is_in_no_ones_way(self, data: bytes, workspace: Path) -> None:
        known = before(workspace)
        make(workspace.with_name("state"), "running/torn.json")
        (Path(known.records) / "torn.json").write_bytes(data)
        opened = set(Path("/proc/self/fd").iterdir())
        assert recover(Path(known.records)) == ()
        assert set(Path("/proc/self/fd").iterdir()) == opened

    def test_records_are_private(self, workspace: Path) -> None:
        recorded = record_command(before(workspace))
        assert stat.S_IMODE(recorded.path.stat().st_mode) == 0o600
        release_lock(recorded.lock)


class TestAccepting:
    def test_everything_is_put_back_as_it_was(self, workspace: Path) -> None:
        known = before(workspace)
        make(workspace, "made/.git/config", ".vscode/")
        (workspace / ".npmrc").write_text("a=b\n")
        quarantine_new_files(known)
        directory = Path(known.directory)
        assert [Path(item.path).name for _, item in list_items(directory)] == [".npmrc", ".vscode", ".git"]
        assert len(accept(directory)) == 3
        assert (workspace / ".npmrc").read_text() == "a=b\n"
        assert (workspace / "made/.git/config").exists()
        assert list_items(directory) == []
        assert quarantine_new_files(before(workspace)) == ()

    def test_only_what_was_named_is_put_back(self, workspace: Path) -> None:
        known = before(workspace)
        make(workspace, ".vscode/", ".husky/")
        quarantine_new_files(known)
        assert accept(Path(known.directory), [str(workspace / ".husky")]) == [str(workspace / ".husky")]
        assert not (workspace / ".vscode").exists()
        assert [item.path for _, item in list_items(Path(known.directory))] == [str(workspace / ".vscode")]

    def test_what_is_not_there_is_named(self, workspace: Path) -> None:
        with pytest.raises(NotFound, match="nothing is set aside"):
            accept(workspace)
        known = before(workspace)
        make(workspace, ".vscode/")
        quarantine_new_files(known)
        with pytest.raises(NotFound, match=r"`/x` is not set aside"):
            accept(Path(known.directory), ["/x"])

    def test_nothing_is_overwritten(self, workspace: Path) -> None:
        known = before(workspace)
        make(workspace, ".vscode/")
        quarantine_new_files(known)
        make(workspace, ".vscode/mine")
        with pytest.raises(ValidationFailed, match="exists again"):
            accept(Path(known.directory))
        assert (workspace / ".vscode/mine").exists()

    def test_the_directory_must_still_be_there(self, workspace: Path) -> None:
        known = before(workspace)
        make(workspace, "gone/.vscode/")
        quarantine_new_files(known)
        (workspace / "gone").rmdir()
        with pytest.raises(NotFound, match="the directory of"):
            accept(Path(known.directory))


def test_a_long_list_is_cut_in_results() -> None:
    found = [Quarantined(path=f"/w/\udcff{number}", moved_to="/q") for number in range(MAX_LISTED + 7)]
    told = quarantine_report(found)
    assert told[0] == {"path": "/w/\\udcff0", "moved_to": "/q"}
    assert told[-1] == {"path": "… and 7 more"}
    assert msgspec.json.decode(msgspec.json.encode(told)) == told
