"""What is found in a workspace that has to be protected, without following a link."""

import os
from pathlib import Path

import pytest

from skills_runtime.sandbox import protected_paths as directories
from skills_runtime.sandbox import protected_paths as module
from skills_runtime.sandbox.protected_paths import CONFIGURATION, KEPT_FREE, KEPT_FREE_AT_HOME, Findings, survey
from skills_runtime.sandbox.supervision import placeholders


def make(place: Path, *names: str) -> None:
    for name in names:
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir(exist_ok=True)
        else:
            path.touch()


def found(place: Path, paths: tuple[Path, ...]) -> set[str]:
    return {str(path.relative_to(place)) for path in paths}


def test_what_exists_is_made_read_only(tmp_path: Path) -> None:
    make(tmp_path, ".git/", ".vscode/", ".mcp.json", ".bashrc", ".tcshrc", "src/main.py")
    assert found(tmp_path, survey(tmp_path).read_only) == {".git", ".vscode", ".mcp.json", ".bashrc", ".tcshrc"}


def test_what_does_not_exist_is_kept_free(tmp_path: Path) -> None:
    make(tmp_path, ".git/")
    findings = survey(tmp_path)
    assert found(tmp_path, findings.placeholders) == {*KEPT_FREE, "HEAD"} - {".git"}
    assert found(tmp_path, findings.placeholder_directories) == {".skills_runtime_sdk"}


def test_a_repository_that_does_not_exist_is_kept_free_by_a_directory_which_git_ignores(tmp_path: Path) -> None:
    assert found(tmp_path, survey(tmp_path).placeholder_directories) == {".skills_runtime_sdk", ".git"}


def test_start_up_files_are_kept_free_in_a_home(tmp_path: Path) -> None:
    make(tmp_path, ".bash_logout")
    assert found(tmp_path, survey(tmp_path).placeholders) == {*KEPT_FREE_AT_HOME, "HEAD"} - {".bash_logout", ".git"}


def test_the_home_of_a_user_is_one_whatever_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class User:
        pw_dir = str(tmp_path)

    def user_of(number: int) -> User:
        assert number == os.getuid()
        return User()

    monkeypatch.setattr(module.pwd, "getpwuid", user_of)
    assert ".bashrc" in found(tmp_path, survey(tmp_path).placeholders)


def test_secrets_are_hidden_wherever_they_are(tmp_path: Path) -> None:
    make(
        tmp_path, ".env", ".env.local", "a/b/.env.production", ".environment", "a/env", ".ssh/id", "a/.ssh/id", ".netrc"
    )
    findings = survey(tmp_path)
    names = {".env", ".env.local", "a/b/.env.production", ".environment", ".netrc"}
    assert found(tmp_path, findings.hidden_files) == names
    assert found(tmp_path, findings.hidden_directories) == {".ssh", ".skills_runtime_sdk"}


def test_a_directory_with_the_name_of_a_secret_is_somebody_s_python(tmp_path: Path) -> None:
    make(tmp_path, ".env/bin/python")
    assert survey(tmp_path).hidden_files == ()


def test_nested_repositories_are_protected_and_their_parents_pinned(tmp_path: Path) -> None:
    make(tmp_path, "a/b/repository/.git/config", "a/other/")
    findings = survey(tmp_path)
    assert found(tmp_path, findings.read_only) == {"a/b/repository/.git"}
    assert [str(path.relative_to(tmp_path)) for path in findings.pinned] == ["a", "a/b", "a/b/repository"]
    names = {f"a/b/repository/{name}" for name in CONFIGURATION}
    assert names <= found(tmp_path, findings.placeholders)


def test_a_repository_without_a_working_tree_is_protected_whole(tmp_path: Path) -> None:
    make(tmp_path, "mirror.git/HEAD", "mirror.git/objects/", "mirror.git/refs/", "mirror.git/config")
    assert found(tmp_path, survey(tmp_path).read_only) == {"mirror.git"}


def test_the_repository_of_a_worktree_is_a_file(tmp_path: Path) -> None:
    make(tmp_path, ".git", "tree/.git")
    assert found(tmp_path, survey(tmp_path).read_only) == {".git", "tree/.git"}


def test_in_others_code_only_repositories_and_secrets_are_looked_for(tmp_path: Path) -> None:
    make(tmp_path, "node_modules/x/.vscode/", ".venv/x/.claude/", "node_modules/x/.git/", ".venv/x/.env")
    findings = survey(tmp_path)
    assert found(tmp_path, findings.read_only) == {"node_modules/x/.git"}
    assert found(tmp_path, findings.hidden_files) == {".venv/x/.env"}


@pytest.mark.parametrize("name", [".git", ".vscode", ".mcp.json", ".bashrc"])
def test_a_link_in_place_of_a_protected_name_is_reported(name: str, tmp_path: Path) -> None:
    (tmp_path / name).symlink_to("elsewhere")
    assert found(tmp_path, survey(tmp_path).links) == {name}


def test_links_are_not_followed(tmp_path: Path) -> None:
    make(tmp_path, "outside/.git/", "workspace/")
    (tmp_path / "workspace/link").symlink_to(tmp_path / "outside")
    findings = survey(tmp_path / "workspace")
    assert findings.read_only == ()
    assert findings.links == ()


def test_a_linked_secret_is_hidden_where_it_really_is(tmp_path: Path) -> None:
    make(tmp_path, "config/secrets", "workspace/inner/secrets")
    workspace = tmp_path / "workspace"
    (workspace / ".env").symlink_to("inner/secrets")
    (workspace / ".env.far").symlink_to("../config/secrets")
    assert found(workspace, survey(workspace).hidden_files) == {"inner/secrets"}


def test_what_another_command_keeps_free_is_shared(tmp_path: Path) -> None:
    make(tmp_path, ".claude", ".skills_runtime_sdk/", ".vscode", ".git/")
    (tmp_path / ".git").chmod(placeholders.DIRECTORY_MODE)
    (tmp_path / ".claude").chmod(placeholders.MODE)
    (tmp_path / ".skills_runtime_sdk").chmod(placeholders.DIRECTORY_MODE)
    findings = survey(tmp_path)
    assert ".claude" in found(tmp_path, findings.placeholders)
    assert found(tmp_path, findings.placeholder_directories) == {".skills_runtime_sdk", ".git"}
    assert found(tmp_path, findings.read_only) == {".vscode"}


def test_a_change_is_seen_at_once(tmp_path: Path) -> None:
    make(tmp_path, "a/b/")
    assert survey(tmp_path).read_only == ()
    for _ in range(5):
        make(tmp_path, "a/b/.git/")
        assert found(tmp_path, survey(tmp_path).read_only) == {"a/b/.git"}
        (tmp_path / "a/b/.git").rmdir()
        assert survey(tmp_path).read_only == ()


def test_what_has_not_changed_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, *(f"d{number}/x" for number in range(20)))
    monkeypatch.setattr(directories, "UNSETTLED_NS", -1_000_000_000)  # as if it had been so for long
    first = survey(tmp_path)

    def forbidden(path: str) -> None:
        raise AssertionError(path)

    monkeypatch.setattr(directories.os, "scandir", forbidden)
    assert survey(tmp_path) == first


def test_a_tree_too_large_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, *(f"d{number}/x" for number in range(10)))
    assert survey(tmp_path).complete
    monkeypatch.setattr(module, "MAX_DIRECTORIES", 3)
    make(tmp_path, "d1/e/")
    assert not survey(tmp_path).complete
    assert [path.parent for path in survey(tmp_path).unseen] == [tmp_path]


def test_a_tree_too_deep_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a/b/c/")
    monkeypatch.setattr(directories, "MAX_LENGTH", len(str(tmp_path / "a/b")))
    assert survey(tmp_path).unseen == (tmp_path / "a/b/c",)


def test_a_directory_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    assert survey(tmp_path / "missing") == Findings()
