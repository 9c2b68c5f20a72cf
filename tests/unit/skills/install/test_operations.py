"""What can be done with installed skills: install, verify, remove, lock, roll back; and what the user agreed to."""

import json
import shutil
from pathlib import Path

import pytest

from skills_runtime.errors import NotFound, PolicyDenied, StorageFailed, ValidationFailed
from skills_runtime.skills.install import InstallPaths, consented, hash_directory, read_lock, verify_installed
from skills_runtime.skills.install.fetch import LocalFetcher
from skills_runtime.skills.install.lockfile import user_places
from skills_runtime.skills.install.operations import (
    find_previous_version,
    install_prepared,
    remove_skills,
    roll_back,
    write_lock_from_installed,
)
from skills_runtime.skills.install.prepare import Preparation, locked_skills
from skills_runtime.skills.install.transaction import VersionStore, open_work_directory
from tests.unit.skills.install.changing import install_from, places_in, prepared_from
from tests.unit.skills.samples import make_skill, skill_text


@pytest.fixture
def places(tmp_path: Path) -> InstallPaths:
    return places_in(tmp_path)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A directory with one skill."""
    make_skill(tmp_path / "source", "writer", files={"scripts/run.sh": "echo\n"})
    return tmp_path / "source"


def change(source: Path, text: str) -> None:
    (source / "writer/SKILL.md").write_text(skill_text("writer", text))


async def go_back(places: InstallPaths) -> None:
    version, kept = find_previous_version(places, "writer")
    with open_work_directory(places) as work:
        assert version.entry is not None
        prepared = Preparation(places, LocalFetcher(), work).version("writer", kept, version.entry)
        roll_back(places, work, prepared, version)


async def frozen(places: InstallPaths) -> list[str]:
    """Install what is locked; the names of what that changed."""
    with open_work_directory(places) as work:
        prepared = await locked_skills(places, Preparation(places, LocalFetcher(), work))
        install_prepared(places, work, prepared)
        return [each.name for each in prepared if each.becomes != "same"]


def statuses(places: InstallPaths) -> dict[str, str]:
    return {each.name: each.status for each in verify_installed(places)}


async def test_an_installed_skill_is_there_locked_and_agreed_to(places: InstallPaths, source: Path) -> None:
    await install_from(places, source)
    skill = places.skills / "writer"
    assert statuses(places) == {"writer": "ok"}
    assert hash_directory(skill).digest == hash_directory(source / "writer").digest
    entry = read_lock(places).skills["writer"]
    assert entry.computed_hash == hash_directory(skill).computed_hash
    assert consented(skill, state=places.state)


async def test_a_changed_skill_is_no_longer_agreed_to(places: InstallPaths, source: Path) -> None:
    await install_from(places, source)
    (places.skills / "writer/scripts/run.sh").write_text("evil\n")
    assert statuses(places) == {"writer": "changed"}
    assert not consented(places.skills / "writer", state=places.state)


def test_a_missing_skill_has_no_consent(places: InstallPaths, tmp_path: Path) -> None:
    assert not consented(tmp_path / "gone", state=places.state)


async def test_damaged_consents_are_never_taken_for_agreement(places: InstallPaths, source: Path) -> None:
    await install_from(places, source)
    (places.state / "consents.json").write_text("{")
    with pytest.raises(StorageFailed):
        consented(places.skills / "writer", state=places.state)


async def test_what_is_missing_or_not_locked_is_reported(places: InstallPaths, source: Path) -> None:
    await install_from(places, source)
    make_skill(places.skills, "mine")
    shutil.rmtree(places.skills / "writer")
    assert statuses(places) == {"mine": "extra", "writer": "missing"}


async def test_an_update_can_be_taken_back_and_again(places: InstallPaths, source: Path) -> None:
    for text in ("First.", "Second.", "Third."):
        change(source, text)
        await install_from(places, source)
    for text in ("Second.", "First."):
        await go_back(places)
        assert text in (places.skills / "writer/SKILL.md").read_text()
        assert statuses(places) == {"writer": "ok"}
    with pytest.raises(NotFound, match="no earlier version"):
        find_previous_version(places, "writer")


async def test_a_removed_skill_can_be_put_back(places: InstallPaths, source: Path) -> None:
    await install_from(places, source)
    remove_skills(places, ["writer"], unlocked_too=False)
    assert (statuses(places), read_lock(places).skills) == ({}, {})
    await go_back(places)
    assert statuses(places) == {"writer": "ok"}


def test_a_skill_written_by_the_user_is_not_removed_by_accident(places: InstallPaths) -> None:
    make_skill(places.skills, "mine")
    with pytest.raises(ValidationFailed, match="not in the lock file"):
        remove_skills(places, ["mine"], unlocked_too=False)
    remove_skills(places, ["mine"], unlocked_too=True)
    assert statuses(places) == {}
    with pytest.raises(NotFound):
        remove_skills(places, ["mine"], unlocked_too=True)


async def test_an_earlier_version_that_was_tampered_with_does_not_come_back(places: InstallPaths, source: Path) -> None:
    await install_from(places, source)
    first = hash_directory(places.skills / "writer").digest
    change(source, "Second.")
    await install_from(places, source)
    (places.store / first / "SKILL.md").write_text("evil")
    with pytest.raises(NotFound, match="no longer kept"):
        find_previous_version(places, "writer")


async def test_a_frozen_install_needs_no_source_once_a_version_is_kept(places: InstallPaths, source: Path) -> None:
    await install_from(places, source)
    shutil.rmtree(places.skills)
    shutil.rmtree(source)
    assert await frozen(places) == ["writer"]
    assert statuses(places) == {"writer": "ok"}


async def test_a_frozen_install_fetches_what_is_not_kept(places: InstallPaths, source: Path) -> None:
    await install_from(places, source)
    shutil.rmtree(places.skills)
    shutil.rmtree(places.store)
    assert await frozen(places) == ["writer"]


async def test_a_frozen_install_refuses_what_is_not_the_same_any_more(places: InstallPaths, source: Path) -> None:
    await install_from(places, source)
    shutil.rmtree(places.skills)
    shutil.rmtree(places.store)
    change(source, "Another.")
    with pytest.raises(PolicyDenied, match="no longer has the locked content"):
        await frozen(places)
    assert statuses(places) == {"writer": "missing"}


async def test_a_frozen_install_refuses_another_skill_with_the_same_public_hash(
    places: InstallPaths, source: Path
) -> None:
    (source / "writer/x").write_text("bc")
    await install_from(places, source)
    shutil.rmtree(places.skills)
    shutil.rmtree(places.store)
    (source / "writer/x").rename(source / "writer/xb")
    (source / "writer/xb").write_text("c")
    assert hash_directory(source / "writer").computed_hash == read_lock(places).skills["writer"].computed_hash
    with pytest.raises(PolicyDenied, match="no longer has the locked content"):
        await frozen(places)


async def test_what_is_installed_as_locked_is_left_alone(places: InstallPaths, source: Path) -> None:
    await install_from(places, source)
    shutil.rmtree(places.store)
    shutil.rmtree(source)
    assert await frozen(places) == []


async def test_an_empty_lock_file_installs_nothing(places: InstallPaths) -> None:
    with pytest.raises(NotFound, match="nothing locked"):
        await frozen(places)


async def test_the_lock_file_can_be_written_from_what_is_installed(places: InstallPaths, source: Path) -> None:
    await install_from(places, source)
    make_skill(places.skills, "mine")
    (places.skills / "writer/SKILL.md").write_text(skill_text("writer", "Mine now."))
    document = json.loads(places.lock.read_text())
    document["skills"]["gone"] = document["skills"]["writer"]
    document["skills"]["writer"]["subagents"] = ["x"]
    places.lock.write_text(json.dumps(document))
    write_lock_from_installed(places)
    assert statuses(places) == {"mine": "ok", "writer": "ok"}
    written = json.loads(places.lock.read_text())["skills"]
    assert written["mine"]["source"] == "./.agents/skills/mine"
    assert written["writer"]["subagents"] == ["x"]


async def test_the_lock_file_of_a_user_has_what_other_installers_need(tmp_path: Path, source: Path) -> None:
    places = user_places({"HOME": str(tmp_path / "home")})
    await install_from(places, source)
    document = json.loads(places.lock.read_text())
    entry = document["skills"]["writer"]
    assert document["version"] == 3
    assert {"source", "sourceType", "skillFolderHash", "installedAt", "updatedAt"} <= entry.keys()
    assert statuses(places) == {"writer": "ok"}


async def test_an_entry_of_another_installer_without_a_hash_is_unpinned(tmp_path: Path) -> None:
    places = user_places({"HOME": str(tmp_path / "home")})
    make_skill(places.skills, "writer")
    entry = {"source": "a/b", "sourceType": "github", "sourceUrl": "x", "skillFolderHash": "ab", "installedAt": "t"}
    places.lock.write_text(json.dumps({"version": 3, "skills": {"writer": entry}, "dismissed": {}}))
    assert statuses(places) == {"writer": "unpinned"}


async def test_a_skill_inside_a_skill_is_not_installed_by_itself(places: InstallPaths, source: Path) -> None:
    make_skill(source, "writer/examples/inner")
    await install_from(places, source)
    assert statuses(places) == {"writer": "ok"}
    assert (places.skills / "writer/examples/inner/SKILL.md").exists()


async def test_links_are_followed_only_inside_of_what_was_fetched(
    places: InstallPaths, source: Path, tmp_path: Path
) -> None:
    (source / "shared.md").write_text("shared")
    (source / "writer/shared.md").symlink_to("../shared.md")
    await install_from(places, source)
    copied = places.skills / "writer/shared.md"
    assert (copied.is_symlink(), copied.read_text()) == (False, "shared")
    (tmp_path / "secret").write_text("secret")
    (source / "writer/secret").symlink_to(tmp_path / "secret")
    with pytest.raises(ValidationFailed, match="leads out"):
        await install_from(places, source)


async def test_a_link_in_a_circle_is_refused(places: InstallPaths, source: Path) -> None:
    (source / "writer/loop").symlink_to(source / "writer")
    with pytest.raises(ValidationFailed, match="leads out of what was fetched, or nowhere"):
        await install_from(places, source)


async def test_what_changes_is_reported_file_by_file(places: InstallPaths, source: Path) -> None:
    await install_from(places, source)
    change(source, "Another.")
    (source / "writer/scripts/run.sh").unlink()
    (source / "writer/new.bin").write_bytes(b"\0\1")
    with open_work_directory(places) as work:
        prepared = (await prepared_from(places, work, source))[0]
    assert [(each.path, each.kind) for each in prepared.changes] == [
        ("SKILL.md", "changed"),
        ("new.bin", "added"),
        ("scripts/run.sh", "removed"),
    ]
    assert "+description: Another." in prepared.changes[0].lines


def test_a_version_is_kept_once_and_found_by_its_public_hash(tmp_path: Path) -> None:
    skill = make_skill(tmp_path, "writer")
    hashed = hash_directory(skill)
    store = VersionStore(tmp_path / "store")
    store.keep(skill, hashed)
    store.keep(skill, hashed)
    kept = store.find(hashed.computed_hash)
    assert kept is not None
    assert hash_directory(kept).digest == hashed.digest
    assert [store.find("../x"), store.get("0" * 64), store.find("0" * 64)] == [None, None, None]


async def test_a_skill_with_added_links_can_be_replaced_and_restored(places: InstallPaths, source: Path) -> None:
    await install_from(places, source)
    (places.skills / "writer/again.md").symlink_to("SKILL.md")
    change(source, "Second.")
    await install_from(places, source)
    await go_back(places)
    assert (places.skills / "writer/again.md").read_text() == (places.skills / "writer/SKILL.md").read_text()
