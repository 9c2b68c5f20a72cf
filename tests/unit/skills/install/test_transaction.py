"""Skills and lock file change together: a process may die at any moment, and several may work at once."""

import shutil
import threading
from pathlib import Path

import pytest

from skills_runtime.errors import SkillsRuntimeError, StorageFailed, ValidationFailed
from skills_runtime.skills.install import InstallPaths, hash_directory, read_lock, verify_installed
from skills_runtime.skills.install import transaction as applying
from skills_runtime.skills.install.transaction import (
    InstallChange,
    apply_changes,
    finish_interrupted,
    open_work_directory,
)
from tests.support.examples import THOROUGH
from tests.unit.skills.install.changing import dies_at, places_in, put, staged_change
from tests.unit.skills.samples import skill_text

OLD, NEW = skill_text("a", "The old one."), skill_text("a", "The new one.")
MOMENTS = 400
STRIDE = 1 if THOROUGH else 4


def change_everything(places: InstallPaths) -> None:
    """Replace one skill, add one, remove one."""
    with open_work_directory(places) as work:
        replaced = staged_change(places, work, "a", NEW)
        added = staged_change(places, work, "b", NEW)
        removed = InstallChange(name="c", remove=True, expected=hash_directory(places.skills / "c").digest)
        apply_changes(places, work, [replaced, added, removed])


def whole_state(places: InstallPaths) -> tuple[tuple[str, str], ...]:
    """What is there, by name and text."""
    return tuple(sorted((each.name, (each / "SKILL.md").read_text()) for each in places.skills.iterdir()))


def never(one: Path, other: Path) -> bool:
    """A system that cannot exchange two directories."""
    del one, other
    return False


BEFORE = (("a", OLD), ("c", OLD))
AFTER = (("a", NEW), ("b", NEW))


@pytest.mark.slow
@pytest.mark.parametrize("exchange", [True, False], ids=["exchanged", "moved"])
def test_a_process_that_dies_at_any_moment_leaves_old_or_new_skills(
    exchange: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchange:
        monkeypatch.setattr(applying, "exchange_paths", never)
    seen: set[tuple[tuple[str, str], ...]] = set()
    put(places_in(tmp_path / "first"), "a", OLD)
    put(places_in(tmp_path / "first"), "c", OLD)
    for moment in range(1, MOMENTS, STRIDE):
        shutil.copytree(tmp_path / "first", tmp_path / str(moment))
        places = places_in(tmp_path / str(moment))
        died = dies_at(moment, lambda places=places: change_everything(places))
        if exchange:
            assert (places.skills / "a/SKILL.md").read_text() in (OLD, NEW)
            assert (places.skills / "a/scripts/run.sh").read_text() in (OLD, NEW)
        finish_interrupted(places)
        assert {each.status for each in verify_installed(places)} == {"ok"}
        assert whole_state(places) in (BEFORE, AFTER)
        assert sorted(read_lock(places).skills) == [name for name, _ in whole_state(places)]
        assert sorted(each.name for each in places.root.iterdir()) == [".agents", "skills-lock.json"]
        assert list(places.skills.parent.iterdir()) == [places.skills]
        seen.add(whole_state(places))
        if not died:
            break
    else:
        pytest.fail("it never came to its end")
    assert seen == {BEFORE, AFTER}


def test_two_at_once_both_get_their_turn(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(5):
                put(places, name, skill_text(name, f"Number {number}."))
        except (OSError, SkillsRuntimeError) as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b", "c", "d")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [(each.name, each.status) for each in verify_installed(places)] == [(name, "ok") for name in "abcd"]
    assert not places.staging.exists()


def test_concurrent_changes_are_not_overwritten(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    put(places, "a", OLD)
    with open_work_directory(places) as work:
        change = staged_change(places, work, "a", NEW)
        (places.skills / "a/SKILL.md").write_text("mine")
        with pytest.raises(ValidationFailed, match="meanwhile"):
            apply_changes(places, work, [change])
    assert (places.skills / "a/SKILL.md").read_text() == "mine"


@pytest.mark.parametrize("name", ["..", "a/b", ".hidden", "", "a\0b", "con"])
def test_no_change_reaches_out_of_the_directory_of_skills(name: str, tmp_path: Path) -> None:
    places = places_in(tmp_path)
    with open_work_directory(places) as work, pytest.raises(ValidationFailed):
        apply_changes(places, work, [InstallChange(name=name, remove=True)])


def test_a_forged_journal_does_nothing(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    put(places, "a", OLD)
    places.staging.mkdir()
    for forged in (
        b"{}",
        b"no",
        b'{"work": "..", "steps": [], "lock": ""}',
        b'{"work": "w", "steps": [{"name": "../a", "staged": null, "digest": "", "remove": true}], "lock": ""}',
    ):
        (places.staging / "journal.json").write_bytes(forged)
        with pytest.raises((StorageFailed, ValidationFailed)):
            finish_interrupted(places)
    assert whole_state(places) == (("a", OLD),)


def test_a_link_in_the_place_of_the_staging_directory_is_refused(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    places.skills.mkdir(parents=True)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/work-1-x").write_text("keep")
    places.staging.symlink_to(tmp_path / "precious")
    with pytest.raises(ValidationFailed, match="not a directory"):
        put(places, "a", OLD)
    with pytest.raises(ValidationFailed, match="not a directory"):
        finish_interrupted(places)
    assert (tmp_path / "precious/work-1-x").read_text() == "keep"


def test_a_link_in_the_place_of_a_skill_is_replaced_and_not_followed(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    places.skills.mkdir(parents=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/keep").write_text("keep")
    (places.skills / "a").symlink_to(tmp_path / "mine")
    with open_work_directory(places) as work:
        change = staged_change(places, work, "a", NEW)
        apply_changes(
            places, work, [InstallChange(name="a", staged=change.staged, digest=change.digest, entry=change.entry)]
        )
    assert not (places.skills / "a").is_symlink()
    assert [each.name for each in (tmp_path / "mine").iterdir()] == ["keep"]


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    with pytest.raises(ValidationFailed), open_work_directory(places) as work:
        apply_changes(places, work, [staged_change(places, work, "a", NEW), InstallChange(name="..", remove=True)])
    assert list(places.skills.parent.iterdir()) == []
