"""What a command can do to be overlooked by the next scan, and what it must not get by it."""

import os
from pathlib import Path

import pytest

from skills_runtime.protected_names import CREDENTIAL_NAMES, HOME_SECRET_PATHS
from skills_runtime.sandbox import protected_paths as directories
from skills_runtime.sandbox import protected_paths as module
from skills_runtime.sandbox.grants import SECRET_NAMES
from skills_runtime.sandbox.policy import build_policy, unmet
from skills_runtime.sandbox.protected_paths import Findings, scan, scan_gaps
from tests.support.users import Unprivileged
from tests.unit.sandbox.test_protected_paths import found, make

BARE = ("HEAD", "objects/", "refs/", "config", "hooks/")


@pytest.mark.parametrize("mode", [0, 0o300, 0o444])
def test_a_directory_that_its_owner_has_closed_is_covered(mode: int, unprivileged: Unprivileged) -> None:
    def run() -> tuple[Findings, Findings]:
        make(unprivileged.path, "a/closed/.env")
        (unprivileged.path / "a/closed").chmod(mode)
        closed = scan(unprivileged.path)
        (unprivileged.path / "a/closed").chmod(0o755)
        return closed, scan(unprivileged.path)

    closed, opened = unprivileged(run)
    assert "a/closed" in found(unprivileged.path, closed.hidden_directories)
    assert found(unprivileged.path, opened.hidden_files) == {"a/closed/.env"}


def test_an_unreadable_workspace_is_not_reported_as_scanned(unprivileged: Unprivileged) -> None:
    def run() -> Findings:
        (unprivileged.path / "closed").mkdir(mode=0)
        return scan(unprivileged.path / "closed")

    assert not unprivileged(run).complete


@pytest.mark.parametrize(
    "place", ["a/.claude", "a/.git", ".venv/.git", "a/.ssh", "a/.vscode/deep", "/".join("abcdefghijklmn")]
)
def test_a_secret_is_found_wherever_it_was_carried(place: str, tmp_path: Path) -> None:
    make(tmp_path, f"{place}/inner/.env")
    assert found(tmp_path, scan(tmp_path).hidden_files) == {f"{place}/inner/.env"}


def test_a_secret_is_found_in_what_looks_like_a_repository(tmp_path: Path) -> None:
    make(tmp_path, *(f"fake/{name}" for name in BARE), "fake/src/.env")
    findings = scan(tmp_path)
    assert found(tmp_path, findings.read_only) == {"fake/config", "fake/hooks"}
    assert found(tmp_path, findings.hidden_files) == {"fake/src/.env"}


def test_what_is_a_secret_by_its_place_keeps_it(tmp_path: Path) -> None:
    make(tmp_path, "packages/app/secrets", "packages/other/.env")
    (tmp_path / ".env").symlink_to("packages/app/secrets")
    assert [str(path.relative_to(tmp_path)) for path in scan(tmp_path).pinned] == ["packages", "packages/app"]


def test_a_secret_that_is_found_by_its_name_anywhere_holds_no_directory(tmp_path: Path) -> None:
    make(tmp_path, "packages/app/.env")
    assert scan(tmp_path).pinned == ()  # files are moved from and to it as ever


def test_what_is_near_the_top_is_seen_before_any_heap_of_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, *(f"zz/{number}/deep/" for number in range(30)), "node_modules/x/y/", "code/app/.env")
    monkeypatch.setattr(module, "MAX_DIRECTORIES", 40)
    findings = scan(tmp_path)
    assert found(tmp_path, findings.hidden_files) == {"code/app/.env"}
    assert findings.concealed


def test_a_survey_takes_only_so_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a/", "b/")
    monkeypatch.setattr(module, "_CLOCK_EVERY", 1)
    monkeypatch.setattr(module, "MAX_SECONDS", -1.0)
    assert not scan(tmp_path).complete


def test_what_was_not_scanned_is_an_unaccepted_gap() -> None:
    policy = build_policy("workspace-write", Path("/project"))
    gaps = scan_gaps(policy, Findings(complete=False))
    assert [gap.promise for gap in unmet(policy.required, frozenset(), gaps)] == ["protected_paths", "secrets"]
    assert all("was not scanned" in gap.text and "name a smaller directory" in gap.fix for gap in gaps)
    reading = scan_gaps(build_policy("read-only", Path("/project")), Findings(complete=False))
    assert [gap.promise for gap in reading] == ["secrets"]


@pytest.mark.parametrize(
    ("findings", "promises"),
    [
        (Findings(concealed=(Path("/project/big"),)), ["secrets"]),
        (Findings(too_deep=(Path("/project/long"),)), ["protected_paths", "secrets"]),
        (Findings(links=(Path("/project/.git"),)), ["protected_paths"]),
    ],
)
def test_what_was_skipped_is_named_and_refuses_nothing(findings: Findings, promises: list[str]) -> None:
    policy = build_policy("workspace-write", Path("/project"))
    gaps = scan_gaps(policy, findings)
    assert [gap.promise for gap in gaps] == promises
    assert all(gap.partial and "`/project/" in gap.text for gap in gaps)
    assert list(unmet(policy.required, frozenset(), gaps)) == []


def test_a_time_that_was_set_back_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "UNSETTLED_NS", -1_000_000_000)  # as if it had been so for long
    make(tmp_path, "library/")
    seen = (tmp_path / "library").stat()
    assert scan(tmp_path).hidden_files == ()
    make(tmp_path, "library/.env")
    os.utime(tmp_path / "library", ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert found(tmp_path, scan(tmp_path).hidden_files) == {"library/.env"}


def test_a_secret_is_hidden_by_every_name_it_has(tmp_path: Path) -> None:
    make(tmp_path, ".env", "a/b/", "node_modules/c/")
    for name in ("a/b/other", "node_modules/c/third"):
        os.link(tmp_path / ".env", tmp_path / name)
    assert found(tmp_path, scan(tmp_path).hidden_files) == {".env", "a/b/other", "node_modules/c/third"}


def test_a_workspace_that_becomes_a_repository_is_one_by_its_head(tmp_path: Path) -> None:
    make(tmp_path, "HEAD", "objects/", "src/main.c")
    assert scan(tmp_path).obeyed == ()
    make(tmp_path, "refs/")
    assert found(tmp_path, scan(tmp_path).obeyed) == {"HEAD"}


def test_a_repository_as_workspace_keeps_what_git_obeys(tmp_path: Path) -> None:
    make(tmp_path, *BARE)
    findings = scan(tmp_path)
    assert found(tmp_path, findings.read_only) == {"config", "hooks"}
    assert found(tmp_path, findings.obeyed) == {"HEAD", "config", "hooks"}


def test_in_a_home_everything_is_hidden_that_no_grant_opens(tmp_path: Path) -> None:
    make(tmp_path, ".bashrc", ".config/gh/hosts.yml", ".config/gh/.env", ".npmrc", "project/.npmrc")
    findings = scan(tmp_path)
    assert found(tmp_path, findings.hidden_files) == {".npmrc"}
    assert found(tmp_path, findings.hidden_directories) == {".config/gh"}
    assert found(tmp_path, findings.pinned) == {".config", "project"}


def test_elsewhere_a_setting_is_only_a_setting(tmp_path: Path) -> None:
    make(tmp_path, ".npmrc")
    assert scan(tmp_path).hidden_files == ()


def test_a_home_hides_every_name_that_a_grant_refuses() -> None:
    known = {*CREDENTIAL_NAMES, *HOME_SECRET_PATHS}
    missing = {name for name in SECRET_NAMES if not any(one == name or one.endswith(f"/{name}") for one in known)}
    assert missing == {"credentials.json"}  # a name that means nothing without its directory
