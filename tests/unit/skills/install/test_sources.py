"""From what somebody typed to where a skill comes from, and back from a lock file."""

from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.skills.install.lockfile import LockEntry
from skills_runtime.skills.install.sources import (
    ArchiveSource,
    GitSource,
    IndexSource,
    LocalSource,
    entry_for,
    locked_path,
    locked_source,
    parse_source,
    source_label,
)

HUB = "https://github.com/owner/repo.git"
GIT = {
    "owner/repo": (HUB, None, None),
    "owner/repo#v1.2": (HUB, "v1.2", None),
    "owner/repo@feature/x": (HUB, "feature/x", None),
    "owner/repo/skills/pdf": (HUB, None, "skills/pdf"),
    "owner/repo/skills/pdf#main": (HUB, "main", "skills/pdf"),
    "https://github.com/owner/repo": (HUB, None, None),
    "https://github.com/owner/repo.git#v1": (HUB, "v1", None),
    "https://github.com/owner/repo/tree/main/skills/pdf": (HUB, "main", "skills/pdf"),
    "https://github.com/owner/repo/tree/main": (HUB, "main", None),
    "https://github.com/owner/repo/blob/main/skills/pdf/SKILL.md": (HUB, "main", "skills/pdf"),
    "https://gitlab.com/group/sub/repo/-/tree/v2/a": ("https://gitlab.com/group/sub/repo.git", "v2", "a"),
    "https://git.example.org/team/repo.git": ("https://git.example.org/team/repo.git", None, None),
    "git+https://git.example.org/team/repo": ("https://git.example.org/team/repo", None, None),
    "git@github.com:owner/repo.git": ("git@github.com:owner/repo.git", None, None),
    "ssh://git@example.org/owner/repo.git#main": ("ssh://git@example.org/owner/repo.git", "main", None),
    "file:///srv/repo": ("file:///srv/repo", None, None),
}


@pytest.mark.parametrize("text", GIT)
def test_a_repository_is_recognised(text: str, tmp_path: Path) -> None:
    source = parse_source(text, here=tmp_path)
    assert isinstance(source, GitSource)
    assert (source.url, source.ref, source.path) == GIT[text]


@pytest.mark.parametrize("text", GIT)
def test_the_lock_file_leads_back_to_a_repository(text: str, tmp_path: Path) -> None:
    source = parse_source(text, here=tmp_path)
    entry = entry_for(source, root=tmp_path, skill_path="skills/pdf")
    back = locked_source("pdf", entry, root=tmp_path)
    assert isinstance(source, GitSource)
    assert back == msgspec.structs.replace(source, path=None)
    assert locked_path(entry) == "skills/pdf"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("https://example.org", IndexSource),
        ("https://example.org/docs", IndexSource),
        ("https://example.org/writer.skill", ArchiveSource),
        ("https://example.org/writer.tar.gz", ArchiveSource),
    ],
)
def test_other_addresses_are_sites_or_archives(text: str, kind: type, tmp_path: Path) -> None:
    source = parse_source(text, here=tmp_path)
    assert isinstance(source, kind)
    assert locked_source("a", entry_for(source, root=tmp_path), root=tmp_path) == source


def test_what_is_there_as_a_path_is_one(tmp_path: Path) -> None:
    (tmp_path / "owner/repo").mkdir(parents=True)
    (tmp_path / "a.skill").write_bytes(b"")
    (tmp_path / "owner/repo/SKILL.md").write_bytes(b"")
    assert parse_source("owner/repo", here=tmp_path) == LocalSource(tmp_path / "owner/repo")
    assert parse_source("./owner/repo/SKILL.md", here=tmp_path) == LocalSource(tmp_path / "owner/repo")
    assert parse_source("a.skill", here=tmp_path) == ArchiveSource(str(tmp_path / "a.skill"))


def test_a_local_path_is_locked_relative_to_the_project(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    entry = entry_for(LocalSource(tmp_path / "mine"), root=tmp_path)
    assert (entry.source, entry.source_type) == ("./mine", "local")
    assert locked_source("mine", entry, root=tmp_path) == LocalSource(tmp_path / "mine")


@pytest.mark.parametrize(
    "text",
    [
        "", "  ", "-x", "--upload-pack=evil", "owner", "a/\x07b", "owner/../repo",
        "ext::sh -c evil", "ftp://example.org/a", "https://", "https://user:secret@example.org/a.git",
        "owner/repo#-x", "owner/repo#a..b", "https://github.com/", "file://",
            "ssh://-oProxyCommand=x/a", "x@-oProxyCommand:a", "javascript:alert(1)",
    ],
)  # fmt: skip
def test_what_names_no_source_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ValidationFailed) as error:
        parse_source(text, here=tmp_path)
    assert error.value.hint
    assert "secret" not in error.value.message


@pytest.mark.parametrize("text", ["./gone", "/gone", "gone.zip"])
def test_a_path_with_nothing_there_is_not_found(text: str, tmp_path: Path) -> None:
    with pytest.raises(NotFound) as error:
        parse_source(text, here=tmp_path)
    assert error.value.hint


@pytest.mark.parametrize("ref", ["--upload-pack=x", "a..b", "", "a b", "x" * 300, "a//b"])
def test_a_version_that_git_could_take_for_more_is_refused(ref: str, tmp_path: Path) -> None:
    with pytest.raises(ValidationFailed):
        parse_source("owner/repo", here=tmp_path, ref=ref)


def test_only_a_repository_has_versions(tmp_path: Path) -> None:
    with pytest.raises(ValidationFailed, match="only a git repository"):
        parse_source(".", here=tmp_path, ref="main")


def test_a_source_of_another_program_is_named(tmp_path: Path) -> None:
    entry = LockEntry(source="left-pad", source_type="node_modules")
    with pytest.raises(ValidationFailed, match="node_modules"):
        locked_source("pad", entry, root=tmp_path)


def test_a_source_has_a_label_that_can_be_a_directory() -> None:
    assert source_label(GitSource(url="https://x.org/o/My_Repo.git", name="x")) == "my-repo"
    assert source_label(ArchiveSource("/tmp/writer.skill")) == "writer"
    assert source_label(IndexSource("https://x.org/")) == "x-org"
