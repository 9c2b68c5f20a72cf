"""What a command can do to be overlooked by the next survey, and what it must not get by it."""

import os
from pathlib import Path

import pytest

from skills_runtime.sandbox import protected_paths as directories
from skills_runtime.sandbox import protected_paths as module
from skills_runtime.sandbox.grants import SECRET_NAMES
from skills_runtime.sandbox.policy import policy_for, unmet
from skills_runtime.sandbox.protected_paths import CREDENTIALS, HOME_SECRETS, Findings, survey, survey_gaps
from tests.support.users import Unprivileged
from tests.unit.sandbox.test_protected_paths import found, make

BARE = ("HEAD", "objects/", "refs/", "config", "hooks/")


@pytest.mark.parametrize("mode", [0, 0o300, 0o444])
def test_a_directory_that_its_owner_has_closed_is_covered(mode: int, unprivileged: Unprivileged) -> None:
    def run() -> tuple[Findings, Findings]:
        make(unprivileged.path, "a/closed/.env")
        (unprivileged.path / "a/closed").chmod(mode)
        closed = survey(unprivileged.path)
        (unprivileged.path / "a/closed").chmod(0o755)
        return closed, survey(unprivileged.path)

    closed, opened = unprivileged(run)
    assert "a/closed" in found(unprivileged.path, closed.hidden_directories)
    assert found(unprivileged.path, opened.hidden_files) == {"a/closed/.env"}


def test_a_workspace_that_cannot_be_looked_into_is_not_said_to_be_seen(unprivileged: Unprivileged) -> None:
    def run() -> Findings:
        (unprivileged.path / "closed").mkdir(mode=0)
        return survey(unprivileged.path / "closed")

    assert not unprivileged(run).complete


@pytest.mark.parametrize(
    "place", ["a/.claude", "a/.git", ".venv/.git", "a/.ssh", "a/.vscode/deep", "/".join("abcdefghijklmn")]
)
def test_a_secret_is_found_wherever_it_was_carried(place: str, tmp_path: Path) -> None:
    make(tmp_path, f"{place}/inner/.env")
    assert found(tmp_path, survey(tmp_path).hidden_files) == {f"{place}/inner/.env"}


def test_a_secret_is_found_in_what_looks_like_a_repository(tmp_path: Path) -> None:
    make(tmp_path, *(f"fake/{name}" for name in BARE), "fake/src/.env")
    findings = survey(tmp_path)
    assert found(tmp_path, findings.read_only) == {"fake"}
    assert found(tmp_path, findings.hidden_files) == {"fake/src/.env"}
    assert findings.pinned == ()  # nothing is moved in what is read-only


def test_what_is_a_secret_by_its_place_keeps_it(tmp_path: Path) -> None:
    make(tmp_path, "packages/app/secrets", "packages/other/.env")
    (tmp_path / ".env").symlink_to("packages/app/secrets")
    assert [str(path.relative_to(tmp_path)) for path in survey(tmp_path).pinned] == ["packages", "packages/app"]


def test_a_secret_that_is_found_by_its_name_anywhere_holds_no_directory(tmp_path: Path) -> None:
    make(tmp_path, "packages/app/.env")
    assert survey(tmp_path).pinned == ()  # files are moved from and to it as ever


def test_what_is_near_the_top_is_seen_before_any_heap_of_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, *(f"zz/{number}/deep/" for number in range(30)), "node_modules/x/y/", "code/app/.env")
    monkeypatch.setattr(module, "MAX_DIRECTORIES", 40)
    findings = survey(tmp_path)
    assert found(tmp_path, findings.hidden_files) == {"code/app/.env"}
    assert not findings.complete


def test_a_survey_takes_only_so_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a/", "b/")
    monkeypatch.setattr(module, "_CLOCK_EVERY", 1)
    monkeypatch.setattr(module, "MAX_SECONDS", -1.0)
    assert survey(tmp_path).unseen == (tmp_path,)


def test_what_was_not_seen_is_a_gap_that_nobody_has_accepted() -> None:
    policy = policy_for("workspace-write", Path("/project"))
    gaps = survey_gaps(policy, Findings(complete=False, unseen=(Path("/project/big"),)))
    assert [gap.promise for gap in unmet(policy.required, frozenset(), gaps)] == ["protected_paths", "secrets"]
    assert all("/project/big" in gap.text and "--accept-gap" in gap.fix for gap in gaps)
    reading = survey_gaps(policy_for("read-only", Path("/project")), Findings(complete=False))
    assert [gap.promise for gap in reading] == ["secrets"]


def test_many_repositories_are_told_of_and_refuse_nothing(tmp_path: Path) -> None:
    make(tmp_path, *(f"r{number}/.git/" for number in range(module.MAX_NESTED + 1)))
    findings = survey(tmp_path)
    policy = policy_for("workspace-write", tmp_path)
    gaps = survey_gaps(policy, findings)
    assert [(gap.promise, gap.partial) for gap in gaps] == [("protected_paths", True)]
    assert len(findings.read_only) == module.MAX_NESTED + 1


def test_a_time_that_was_set_back_deceives_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "UNSETTLED_NS", -1_000_000_000)  # as if it had been so for long
    make(tmp_path, "library/")
    seen = (tmp_path / "library").stat()
    assert survey(tmp_path).hidden_files == ()
    make(tmp_path, "library/.env")
    os.utime(tmp_path / "library", ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert found(tmp_path, survey(tmp_path).hidden_files) == {"library/.env"}


def test_a_secret_is_hidden_by_every_name_it_has(tmp_path: Path) -> None:
    make(tmp_path, ".env", "a/b/", "node_modules/c/")
    for name in ("a/b/other", "node_modules/c/third"):
        os.link(tmp_path / ".env", tmp_path / name)
    assert found(tmp_path, survey(tmp_path).hidden_files) == {".env", "a/b/other", "node_modules/c/third"}


def test_a_workspace_without_a_repository_cannot_become_one_by_itself(tmp_path: Path) -> None:
    assert "HEAD" in found(tmp_path, survey(tmp_path).placeholders)
    make(tmp_path, ".git/HEAD")
    assert "HEAD" not in found(tmp_path, survey(tmp_path).placeholders)


def test_a_file_of_that_name_stays_and_a_directory_keeps_its_place(tmp_path: Path) -> None:
    make(tmp_path, "file/HEAD", "directory/HEAD/x", "link/")
    (tmp_path / "link/HEAD").symlink_to("refs/heads/main")
    assert found(tmp_path, survey(tmp_path / "file").read_only) == {"file/HEAD"}
    assert found(tmp_path, survey(tmp_path / "directory").pinned) == {"directory/HEAD"}
    assert found(tmp_path, survey(tmp_path / "link").links) == {"link/HEAD"}


def test_a_repository_as_workspace_keeps_what_git_obeys(tmp_path: Path) -> None:
    make(tmp_path, *BARE)
    findings = survey(tmp_path)
    assert found(tmp_path, findings.read_only) == {"HEAD", "config", "hooks"}
    assert {"config.worktree", "commondir"} <= found(tmp_path, findings.placeholders)


def test_a_directory_with_the_mode_of_a_placeholder_is_none_if_it_holds_anything(tmp_path: Path) -> None:
    make(tmp_path, ".git/HEAD")
    (tmp_path / ".git").chmod(0o1755)
    assert found(tmp_path, survey(tmp_path).read_only) == {".git"}


def test_in_a_home_everything_is_hidden_that_no_grant_opens(tmp_path: Path) -> None:
    make(tmp_path, ".bashrc", ".config/gh/hosts.yml", ".config/gh/.env", ".npmrc", "project/.npmrc")
    findings = survey(tmp_path)
    assert found(tmp_path, findings.hidden_files) == {".npmrc"}
    assert found(tmp_path, findings.hidden_directories) == {".config/gh", ".skills_runtime_sdk"}
    assert found(tmp_path, findings.pinned) == {".config"}


def test_elsewhere_a_setting_is_only_a_setting(tmp_path: Path) -> None:
    make(tmp_path, ".npmrc")
    assert survey(tmp_path).hidden_files == ()


def test_a_home_hides_every_name_that_a_grant_refuses() -> None:
    known = {*CREDENTIALS, *HOME_SECRETS}
    missing = {name for name in SECRET_NAMES if not any(one == name or one.endswith(f"/{name}") for one in known)}
    assert missing == {"credentials.json"}  # a name that means nothing without its directory
