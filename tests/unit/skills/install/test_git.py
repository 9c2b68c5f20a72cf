"""Git repositories as sources: real ones, harmless and otherwise."""

import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from skills_runtime.engine.skill_operations import build_fetcher
from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.skills.install import Fetched, FetchRequest
from skills_runtime.skills.install.sources import GitSource
from tests.unit.skills.samples import make_skill

AUTHOR = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b.c",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b.c",
}


def git(repository: Path, *arguments: str) -> str:
    """Run git as whoever wrote the repository."""
    environment = {**AUTHOR, "PATH": os.environ["PATH"], "HOME": str(repository), "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(["git", *arguments], cwd=repository, env=environment, check=True, capture_output=True)
    return done.stdout.decode().strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two skills."""
    place = tmp_path / "repo"
    make_skill(place, "skills/writer", files={"scripts/run.sh": "#!/bin/sh\n"})
    (place / "skills/writer/scripts/run.sh").chmod(0o755)
    make_skill(place, "skills/reader")
    git(place, "init", "--quiet", "--initial-branch=main")
    commit(place, "first")
    return place


def commit(place: Path, text: str) -> str:
    git(place, "add", "--all", "--force")
    git(place, "commit", "--quiet", "--allow-empty", "-m", text)
    return git(place, "rev-parse", "HEAD")


async def fetch(
    place: Path,
    into: Path,
    *,
    ref: str | None = None,
    path: str | None = None,
    commit: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Fetched:
    source = GitSource(url=f"file://{place}", name="x", ref=ref, path=path)
    fetcher = build_fetcher(environment or {"PATH": os.environ["PATH"]})
    return await fetcher.fetch(FetchRequest(source=source, commit=commit), into)


def files_in(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if not path.is_dir() or path.is_symlink())


async def test_the_files_of_a_repository_are_there_and_nothing_of_git(repository: Path, tmp_path: Path) -> None:
    fetched = await fetch(repository, tmp_path / "out")
    assert files_in(fetched.root) == [
        "skills/reader/SKILL.md",
        "skills/writer/SKILL.md",
        "skills/writer/scripts/run.sh",
    ]
    assert fetched.commit == git(repository, "rev-parse", "HEAD")
    assert stat.S_IMODE((fetched.root / "skills/writer/scripts/run.sh").stat().st_mode) & 0o100


async def test_directories_have_the_names_that_git_gives_them(repository: Path, tmp_path: Path) -> None:
    fetched = await fetch(repository, tmp_path / "out")
    assert fetched.trees["skills/writer"] == git(repository, "rev-parse", "HEAD:skills/writer")
    assert fetched.trees[""] == git(repository, "rev-parse", "HEAD^{tree}")


@pytest.mark.parametrize("kind", ["branch", "tag", "commit"])
async def test_a_version_is_what_it_was_then(kind: str, repository: Path, tmp_path: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    git(repository, "branch", "old")
    git(repository, "tag", "-a", "v1", "-m", "one")
    (repository / "skills/writer/SKILL.md").write_text("changed")
    commit(repository, "second")
    fetched = await fetch(repository, tmp_path / "out", ref={"branch": "old", "tag": "v1", "commit": first}[kind])
    assert fetched.commit == first
    assert "changed" not in (fetched.root / "skills/writer/SKILL.md").read_text()


async def test_a_locked_commit_is_fetched_though_the_branch_went_on(repository: Path, tmp_path: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    commit(repository, "second")
    assert (await fetch(repository, tmp_path / "out", ref="main", commit=first)).commit == first


async def test_only_the_directory_that_was_named_is_written(repository: Path, tmp_path: Path) -> None:
    fetched = await fetch(repository, tmp_path / "out", path="skills/reader")
    assert files_in(fetched.root) == ["skills/reader/SKILL.md"]
    with pytest.raises(NotFound, match="no directory `skills/gone`"):
        await fetch(repository, tmp_path / "gone", path="skills/gone")


async def test_a_version_that_is_not_there_is_not_found(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no version `gone`"):
        await fetch(repository, tmp_path / "out", ref="gone")


async def test_a_repository_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="cannot be fetched"):
        await fetch(tmp_path / "gone", tmp_path / "out")


async def test_nothing_of_a_repository_or_its_user_is_executed(repository: Path, tmp_path: Path) -> None:
    (repository / ".gitattributes").write_text("* filter=evil diff=evil\n*.md ident eol=lf\n")
    (repository / ".gitmodules").write_text('[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch ran"\n')
    (repository / ".lfsconfig").write_text("[lfs]\n\turl = https://evil.invalid\n")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},x")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "-m", "evil")
    home = tmp_path / "home"
    home.mkdir()
    ran = tmp_path / "ran"
    (home / ".gitconfig").write_text(
        f'[filter "evil"]\n\tsmudge = touch {ran}\n[core]\n\thooksPath = {home}\n\tfsmonitor = touch {ran}\n'
        f"[credential]\n\thelper = !touch {ran}\n[core]\n\tsshCommand = touch {ran}\n"
    )
    (home / "post-checkout").write_text(f"#!/bin/sh\ntouch {ran}\n")
    (home / "post-checkout").chmod(0o755)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_COUNT": "1", "GIT_EXTERNAL_DIFF": "touch"}
    fetched = await fetch(repository, tmp_path / "out", environment=environment)
    assert "skills/writer/SKILL.md" in files_in(fetched.root)
    assert not ran.exists()
    assert not any((fetched.root / "x").glob("*"))


@pytest.mark.parametrize("url", ["ext::sh -c touch% ran", "fd::17/foo", "git://127.0.0.1:1/x"])
async def test_protocols_that_start_programs_are_off(url: str, tmp_path: Path) -> None:
    source = GitSource(url=url, name="x")
    with pytest.raises(NotFound):
        await build_fetcher({"PATH": os.environ["PATH"]}).fetch(FetchRequest(source=source), tmp_path / "out")
    assert not (tmp_path / "ran").exists()


async def test_a_link_in_a_repository_does_not_lead_a_file_out(repository: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (repository / "way").symlink_to(victim)
    git(repository, "add", "way")
    blob = git(repository, "hash-object", "-w", "skills/writer/SKILL.md")
    tree = git(repository, "rev-parse", "HEAD:skills/writer")
    git(repository, "update-index", "--add", "--cacheinfo", f"100644,{blob},way2/x")
    git(repository, "commit", "--quiet", "-m", f"link {tree}")
    fetched = await fetch(repository, tmp_path / "out")
    assert (fetched.root / "way").is_symlink()
    assert list(victim.iterdir()) == []


async def test_a_repository_with_too_many_files_is_refused(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skills_runtime.skills.install.git.MAX_REPOSITORY_FILES", 2)
    with pytest.raises(ValidationFailed, match="too large to search"):
        await fetch(repository, tmp_path / "out")
    assert (await fetch(repository, tmp_path / "part", path="skills/reader")).commit


async def test_a_missing_git_is_reported(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="git"):
        await fetch(repository, tmp_path / "out", environment={"PATH": str(tmp_path)})
