"""What is found in a workspace that has to be protected, without following a link."""

import os
from pathlib import Path

import pytest

from skills_runtime.sandbox import protected_paths as directories
from skills_runtime.sandbox import protected_paths as module
from skills_runtime.sandbox.protected_paths import Findings, paths_in_git_config, scan


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
    make(tmp_path, ".vscode/", ".mcp.json", ".bashrc", ".tcshrc", "team.code-workspace", "src/main.py")
    names = {".vscode", ".mcp.json", ".bashrc", ".tcshrc", "team.code-workspace"}
    assert found(tmp_path, scan(tmp_path).read_only) == names


def test_of_a_repository_only_what_git_obeys_is_read_only(tmp_path: Path) -> None:
    make(tmp_path, ".git/config", ".git/hooks/", ".git/info/attributes", ".git/HEAD", ".git/objects/", ".git/index")
    findings = scan(tmp_path)
    assert found(tmp_path, findings.read_only) == {".git/config", ".git/hooks", ".git/info/attributes"}
    assert found(tmp_path, findings.pinned) == {".git", ".git/info"}


def test_the_same_holds_in_submodules_and_further_work_trees(tmp_path: Path) -> None:
    make(
        tmp_path, ".git/HEAD", ".git/modules/a/b/HEAD", ".git/modules/a/b/config", ".git/modules/a/b/modules/c/HEAD",
        ".git/modules/a/b/modules/c/hooks/", ".git/worktrees/w/HEAD", ".git/worktrees/w/commondir",
        ".git/worktrees/w/gitdir", ".git/worktrees/w/index",
    )  # fmt: skip
    assert found(tmp_path, scan(tmp_path).read_only) == {
        ".git/modules/a/b/config", ".git/modules/a/b/modules/c/hooks", ".git/worktrees/w/commondir",
        ".git/worktrees/w/gitdir",
    }  # fmt: skip


def test_what_would_be_obeyed_in_a_submodule_to_come_is_seen(tmp_path: Path) -> None:
    make(tmp_path, ".git/HEAD", ".git/modules/m/hooks/")
    assert ".git/modules/m/hooks" in found(tmp_path, scan(tmp_path).obeyed)


@pytest.mark.parametrize("name", ["modules", "worktrees", "modules/m"])
def test_a_link_among_submodules_and_work_trees_is_seen(name: str, tmp_path: Path) -> None:
    make(tmp_path, ".git/HEAD", ".git/modules/", "evil/m/HEAD", "evil/m/hooks/")
    path = tmp_path / ".git" / name
    if path.is_dir():
        path.rmdir()
    path.symlink_to(tmp_path / "evil")
    findings = scan(tmp_path)
    assert f".git/{name}" in found(tmp_path, findings.links)
    assert f".git/{name}" in found(tmp_path, findings.obeyed)


def test_nothing_is_protected_that_does_not_exist(tmp_path: Path) -> None:
    make(tmp_path, "src/main.py")
    assert scan(tmp_path) == Findings()


OBEYED = [
    ".git/", ".hg/", ".svn/", ".vscode/", ".idea/", ".claude/", ".agents/", ".cursor/", ".mcp.json", ".envrc",
    ".devcontainer/", ".devcontainer.json", ".husky/", ".npmrc", ".yarnrc.yml", "x.code-workspace", ".env",
    ".env.local", ".skills_runtime_sdk/",
]  # fmt: skip


@pytest.mark.parametrize("place", ["", "deep/er/"])
@pytest.mark.parametrize("name", OBEYED)
def test_what_programs_obey_is_seen_wherever_it_is(name: str, place: str, tmp_path: Path) -> None:
    make(tmp_path, place + name)
    assert found(tmp_path, scan(tmp_path).obeyed) == {f"{place}{name}".rstrip("/")}


@pytest.mark.parametrize("name", ["config/runtime.yaml", "config/rules.yaml", "kgent.yaml"])
def test_what_the_next_run_obeys_is_read_only(name: str, tmp_path: Path) -> None:
    make(tmp_path, name, f"other/{name}")
    findings = scan(tmp_path)
    assert found(tmp_path, findings.read_only) == {name}
    assert found(tmp_path, findings.obeyed) == {name}


@pytest.mark.parametrize("names", [("HEAD", "objects/", "refs/"), ("HEAD", "commondir")])
def test_a_repository_by_any_name_is_obeyed(names: tuple[str, ...], tmp_path: Path) -> None:
    make(tmp_path, *(f"a/innocent/{name}" for name in names))
    assert "a/innocent" in found(tmp_path, scan(tmp_path).obeyed)


def test_of_a_directory_with_other_work_in_it_only_what_makes_it_a_repository_is(tmp_path: Path) -> None:
    make(tmp_path, "src/main.c", "src/HEAD", "src/objects/", "src/refs/")
    assert found(tmp_path, scan(tmp_path).obeyed) == {"src/HEAD"}


@pytest.mark.parametrize("name", [".env.example", ".env.sample"])
def test_what_only_shows_the_form_of_secrets_is_neither_hidden_nor_obeyed(name: str, tmp_path: Path) -> None:
    make(tmp_path, name)
    assert scan(tmp_path) == Findings()


RUN = ("events.jsonl", "run.json", "run.lock", "sandbox-manifest.json")


def test_a_directory_with_a_run_is_hidden(tmp_path: Path) -> None:
    make(tmp_path, *(f"runs/x/{name}" for name in RUN), "runs/x/.git/", "log/events.jsonl")
    assert found(tmp_path, scan(tmp_path).hidden_directories) == {"runs/x"}


def test_runs_that_were_put_elsewhere_in_the_workspace_are_hidden(tmp_path: Path) -> None:
    make(tmp_path, ".skills_runtime_sdk/runs/", "elsewhere/run/")
    (tmp_path / ".skills_runtime_sdk/runs/r").symlink_to(tmp_path / "elsewhere/run")
    assert found(tmp_path, scan(tmp_path).hidden_directories) == {".skills_runtime_sdk", "elsewhere/run"}


@pytest.mark.parametrize(
    "name", ["id_rsa", "id_ed25519_work", "server.key", "a.p12", "credentials.json", "deep/key.pem", ".psql_history"]
)
def test_a_file_with_a_key_is_hidden(name: str, tmp_path: Path) -> None:
    make(tmp_path, name)
    (tmp_path / name).write_text("-----BEGIN PRIVATE KEY-----\n")
    assert found(tmp_path, scan(tmp_path).hidden_files) == {name}


def test_what_is_public_is_not(tmp_path: Path) -> None:
    make(tmp_path, "id_rsa.pub", "ca.pem", "node_modules/tls/test.key", "keys.md", "monkey", "history")
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    assert scan(tmp_path).hidden_files == ()


def test_a_key_is_not_to_be_carried_to_where_it_is_not_looked_for(tmp_path: Path) -> None:
    make(tmp_path, "certificates/server.key", "node_modules/")
    assert found(tmp_path, scan(tmp_path).pinned) == {"certificates"}


def test_further_paths_are_read_only_as_far_as_they_exist(tmp_path: Path) -> None:
    make(tmp_path, "venv/lib/x.py", "src/main.py")
    findings = scan(tmp_path, [tmp_path / "venv", tmp_path / "missing", tmp_path.parent, tmp_path])
    assert found(tmp_path, findings.read_only) == {"venv"}
    assert findings.obeyed == ()


CONFIG = """[core]
\thooksPath = .githooks
\tfsmonitor = tools/monitor --once
\tattributesFile = "my attributes"
[include]
\tpath = ../shared/git.inc
[filter "f"]
\tclean = python3 tools/clean.py %f
[diff "d"]
\ttextconv = 'tools/show it.sh'
[merge "m"] driver = tools/merge %O
[alias]
\tx = !scripts/do.sh
[remote "origin"]
\turl = ../origin
[gitflow "prefix"]
\tfeature = feature/
"""
NAMED = (
    ".githooks/", "tools/monitor", "my attributes", "shared/git.inc", "shared/hooks/", "tools/clean.py", "tools/merge",
    "scripts/do.sh",
)  # fmt: skip


@pytest.mark.parametrize("above", ["", "nested/"])
def test_what_the_configuration_of_a_repository_names_is_read_only(above: str, tmp_path: Path) -> None:
    make(tmp_path, *(above + name for name in (".git/HEAD", *NAMED, "origin/", "feature/", "src/")))
    (tmp_path / above / ".git/config").write_text(CONFIG)
    (tmp_path / above / "shared/git.inc").write_text(f"[core]\n\thooksPath = {tmp_path}/{above}shared/hooks\n")
    names = {f"{above}{name}".rstrip("/") for name in (*NAMED, ".git/config")}
    findings = scan(tmp_path)
    assert found(tmp_path, findings.read_only) == names
    assert names <= found(tmp_path, findings.obeyed)


def test_what_it_names_in_the_repository_itself_is_read_only_too(tmp_path: Path) -> None:
    make(tmp_path, ".git/HEAD", ".git/extra", ".git/shared/")
    (tmp_path / ".git/config").write_text("[include]\npath = extra\n[core]\nhooksPath = .git/shared\n")
    assert found(tmp_path, scan(tmp_path).read_only) == {".git/config", ".git/extra", ".git/shared"}


def test_files_that_include_each_other_are_read_to_an_end(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("[include]\npath = config\n")
    assert set(paths_in_git_config(config)) == {str(config)}


def test_what_a_home_starts_with_is_obeyed_there(tmp_path: Path) -> None:
    make(tmp_path, ".bashrc", ".local/bin/", ".config/systemd/", "src/.vimrc", ".vimrc")
    findings = scan(tmp_path)
    names = {".bashrc", ".local/bin", ".config/systemd", ".vimrc"}
    assert found(tmp_path, findings.read_only) == names == found(tmp_path, findings.obeyed)


def test_the_home_of_a_user_is_one_whatever_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class User:
        pw_dir = str(tmp_path)

    def user_of(number: int) -> User:
        assert number == os.getuid()
        return User()

    make(tmp_path, ".vimrc")
    monkeypatch.setattr(module.pwd, "getpwuid", user_of)
    assert found(tmp_path, scan(tmp_path).read_only) == {".vimrc"}


def test_secrets_are_hidden_wherever_they_are(tmp_path: Path) -> None:
    make(
        tmp_path, ".env", ".env.local", "a/b/.env.production", ".environment", "a/env", ".ssh/id", "a/.ssh/id", ".netrc"
    )
    findings = scan(tmp_path)
    names = {".env", ".env.local", "a/b/.env.production", ".environment", ".netrc"}
    assert found(tmp_path, findings.hidden_files) == names
    assert found(tmp_path, findings.hidden_directories) == {".ssh"}


def test_a_directory_with_the_name_of_a_secret_is_a_python_package(tmp_path: Path) -> None:
    make(tmp_path, ".env/bin/python")
    assert scan(tmp_path).hidden_files == ()


def test_nested_repositories_are_protected_and_their_parents_pinned(tmp_path: Path) -> None:
    make(tmp_path, "a/b/repository/.git/config", "a/other/")
    findings = scan(tmp_path)
    assert found(tmp_path, findings.read_only) == {"a/b/repository/.git/config"}
    pinned = ["a", "a/b", "a/b/repository", "a/b/repository/.git"]
    assert [str(path.relative_to(tmp_path)) for path in findings.pinned] == pinned


def test_a_repository_without_a_working_tree_is_protected_like_any_other(tmp_path: Path) -> None:
    make(tmp_path, "mirror.git/HEAD", "mirror.git/objects/", "mirror.git/refs/", "mirror.git/config")
    findings = scan(tmp_path)
    assert found(tmp_path, findings.read_only) == {"mirror.git/config"}
    assert found(tmp_path, findings.pinned) == {"mirror.git"}


def test_the_repository_of_a_worktree_is_a_file(tmp_path: Path) -> None:
    make(tmp_path, ".git", "tree/.git")
    assert found(tmp_path, scan(tmp_path).read_only) == {".git", "tree/.git"}


def test_in_others_code_only_repositories_and_secrets_are_looked_for(tmp_path: Path) -> None:
    make(tmp_path, "node_modules/x/.vscode/", ".venv/x/.claude/", "node_modules/x/.git/hooks/", ".venv/x/.env")
    findings = scan(tmp_path)
    assert found(tmp_path, findings.read_only) == {"node_modules/x/.git/hooks"}
    assert found(tmp_path, findings.hidden_files) == {".venv/x/.env"}
    assert found(tmp_path, findings.obeyed) == {"node_modules/x/.git", "node_modules/x/.git/hooks"}


@pytest.mark.parametrize("name", [".git", ".vscode", ".mcp.json", ".bashrc", ".env", "kgent.yaml"])
def test_a_link_in_place_of_a_protected_name_is_reported(name: str, tmp_path: Path) -> None:
    (tmp_path / name).symlink_to("elsewhere")
    assert found(tmp_path, scan(tmp_path).links) == {name}


@pytest.mark.parametrize("name", ["config/runtime.yaml", ".git/info/attributes"])
def test_a_link_on_the_way_to_a_protected_name_is_reported(name: str, tmp_path: Path) -> None:
    place, last = (tmp_path / name).parent, (tmp_path / name).name
    make(tmp_path, f"elsewhere/{last}")
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(tmp_path / "elsewhere")
    findings = scan(tmp_path)
    assert found(tmp_path, findings.links) == {str(place.relative_to(tmp_path))}
    assert found(tmp_path, findings.read_only) == {f"elsewhere/{last}"}


def test_a_linked_repository_in_the_workspace_is_protected_where_it_is(tmp_path: Path) -> None:
    make(tmp_path, "store/hooks/", "store/config", "tree/")
    (tmp_path / "tree/.git").symlink_to("../store")
    assert found(tmp_path, scan(tmp_path).read_only) == {"store/hooks", "store/config"}


def test_links_are_not_followed(tmp_path: Path) -> None:
    make(tmp_path, "outside/.git/", "workspace/")
    (tmp_path / "workspace/link").symlink_to(tmp_path / "outside")
    findings = scan(tmp_path / "workspace")
    assert findings.read_only == ()
    assert findings.links == ()


def test_a_linked_secret_is_hidden_where_it_really_is(tmp_path: Path) -> None:
    make(tmp_path, "config/secrets", "workspace/inner/secrets")
    workspace = tmp_path / "workspace"
    (workspace / ".env").symlink_to("inner/secrets")
    (workspace / ".env.far").symlink_to("../config/secrets")
    assert found(workspace, scan(workspace).hidden_files) == {"inner/secrets"}


def test_a_change_is_seen_at_once(tmp_path: Path) -> None:
    make(tmp_path, "a/b/")
    assert scan(tmp_path).read_only == ()
    for _ in range(5):
        make(tmp_path, "a/b/.vscode/")
        assert found(tmp_path, scan(tmp_path).read_only) == {"a/b/.vscode"}
        (tmp_path / "a/b/.vscode").rmdir()
        assert scan(tmp_path).read_only == ()


def test_what_has_not_changed_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, *(f"d{number}/x" for number in range(20)))
    monkeypatch.setattr(directories, "UNSETTLED_NS", -1_000_000_000)  # as if it had been so for long
    first = scan(tmp_path)

    def forbidden(path: str) -> None:
        raise AssertionError(path)

    monkeypatch.setattr(directories.os, "scandir", forbidden)
    assert scan(tmp_path) == first


def test_of_a_tree_too_large_what_was_not_scanned_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, *(f"d{number}/e/f/" for number in range(10)), "g/.env")
    assert scan(tmp_path).concealed == ()
    monkeypatch.setattr(module, "MAX_DIRECTORIES", 15)
    findings = scan(tmp_path)
    assert findings.complete
    assert found(tmp_path, findings.hidden_files) == {"g/.env"}
    assert set(findings.concealed) <= set(findings.hidden_directories)
    assert all(
        any(tmp_path / f"d{number}/e/f" in (one, *_below(one)) for one in findings.concealed) for number in range(10)
    )


def _below(path: Path) -> list[Path]:
    return [path / "f", path / "e/f"]


def test_a_tree_too_wide_at_the_top_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, *(f"d{number}/" for number in range(60)))
    monkeypatch.setattr(module, "MAX_DIRECTORIES", 5)
    assert not scan(tmp_path).complete


def test_a_path_too_long_is_named_and_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a/b/c/", "d/.env")
    monkeypatch.setattr(directories, "MAX_LENGTH", len(str(tmp_path / "a/b")))
    findings = scan(tmp_path)
    assert findings.too_deep == (tmp_path / "a/b/c",)
    assert findings.complete
    assert found(tmp_path, findings.hidden_files) == {"d/.env"}


def test_a_directory_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    assert scan(tmp_path / "missing") == Findings()
