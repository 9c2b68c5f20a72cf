"""What goes wrong with one skill is told by its name, and every other skill still works."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from skills_runtime.skills import Library, SkillError
from tests.support.users import Unprivileged
from tests.unit.skills.discovery.homes import User, mentions, put
from tests.unit.skills.samples import make_skill, skill_text


@pytest.fixture
def user(tmp_path: Path) -> User:
    user = User(tmp_path)
    put(user.home / ".agents/skills", "good")
    put(user.home / ".agents/skills", "group/fine")
    return user


def broken(skills: Path) -> None:
    make_skill(skills, "victim", text="---\nname: [\n")


def link_in_a_circle(skills: Path) -> None:
    (skills / "victim").symlink_to("victim")


def link_to_parent(skills: Path) -> None:
    (skills / "group/victim").symlink_to("..")


def much_too_large(skills: Path) -> None:
    os.truncate(make_skill(skills, "victim") / "SKILL.md", 100 << 20)


def there_twice(skills: Path) -> None:
    make_skill(skills, "one/victim")
    make_skill(skills, "two/victim")


def a_pipe(skills: Path) -> None:
    (skills / "victim").mkdir()
    os.mkfifo(skills / "victim/SKILL.md")


MISFORTUNES: list[tuple[Callable[[Path], None], str]] = [
    (broken, "SKILL_SCAN_METADATA_INVALID"),
    (link_in_a_circle, "SKILL_SCAN_LINK_SKIPPED"),
    (link_to_parent, "SKILL_SCAN_LINK_SKIPPED"),
    (much_too_large, "SKILL_BODY_TOO_LARGE"),
    (there_twice, "SKILL_DUPLICATE_NAME"),
    (a_pipe, "SKILL_SCAN_METADATA_INVALID"),
]


def assert_good_ones_work(library: Library) -> None:
    assert {"$[user].good", "$[user].fine"} <= set(mentions(library))
    for name in ("good", "fine"):
        assert library.body(library.find_by_name(name)) == "Do it.\n"


@pytest.mark.parametrize(("misfortune", "code"), MISFORTUNES)
def test_it_is_reported_by_name_and_the_others_work(user: User, misfortune: Callable[[Path], None], code: str) -> None:
    misfortune(user.home / ".agents/skills")
    for _ in range(2):  # the second search has the index of the first
        library = user.library()
        (problem,) = library.problems()
        assert (problem.code, problem.name) == (code, "victim")
        assert_good_ones_work(library)


@pytest.mark.parametrize("misfortune", [broken, much_too_large, there_twice, a_pipe])
def test_asking_for_it_reports_what_is_wrong(user: User, misfortune: Callable[[Path], None]) -> None:
    misfortune(user.home / ".agents/skills")
    library = user.library()
    with pytest.raises(SkillError, match="victim"):
        library.body(library.find_by_name("victim"))


def test_a_directory_without_permission_is_reported_and_hides_nothing(unprivileged: Unprivileged) -> None:
    def work() -> tuple[list[list[str]], list[tuple[str, str]]]:
        user = User(unprivileged.path)
        skills = user.home / ".agents/skills"
        put(skills, "good")
        put(skills, "closed/inner")
        put(skills, "victim")
        (skills / "closed").chmod(0)
        (skills / "victim/SKILL.md").chmod(0)
        seen = [mentions(user.library()), mentions(user.library())]
        problems = [(problem.code, problem.name) for problem in user.library().problems()]
        (skills / "closed").chmod(0o700)
        seen.append(mentions(user.library()))
        return seen, problems

    seen, problems = unprivileged(work)
    assert seen == [["$[user].good"], ["$[user].good"], ["$[user].good", "$[user].inner"]]
    assert problems == [("SKILL_SCAN_METADATA_INVALID", "victim"), ("SKILL_SCAN_SOURCE_UNAVAILABLE", "closed")]


def test_a_whole_root_without_permission_is_reported_and_hides_no_other(unprivileged: Unprivileged) -> None:
    def work() -> tuple[list[str], list[tuple[str, bool]]]:
        user = User(unprivileged.path)
        put(user.home / ".agents/skills", "good")
        put(user.home / ".claude/skills", "lost")
        (user.home / ".claude").chmod(0)
        library = user.library()
        return mentions(library), [(problem.code, ".claude" in problem.locator) for problem in library.problems()]

    assert unprivileged(work) == (["$[user].good"], [("SKILL_SCAN_SOURCE_UNAVAILABLE", True)])


def test_a_skill_that_is_renamed_while_a_run_works_is_reported_by_name_in_that_run(user: User) -> None:
    put(user.home / ".agents/skills", "victim")
    running = user.library()
    skill = running.find_by_name("victim")
    (user.home / ".agents/skills/victim").rename(user.home / ".agents/skills/renamed")
    assert running.find_by_name("victim") == skill
    with pytest.raises(SkillError, match=r"\$\[user\]\.victim"):
        running.body(skill)
    assert_good_ones_work(running)
    assert "renamed" in user.library().find_by_name("victim").locator


def test_a_skill_that_vanishes_while_it_is_searched_for_hides_nothing(user: User) -> None:
    put(user.home / ".agents/skills", "victim")
    user.library().list()
    shutil.rmtree(user.home / ".agents/skills/victim")
    make_skill(user.home / ".agents/skills", "another", text=skill_text("another"))
    library = user.library()
    assert_good_ones_work(library)
    assert "$[user].another" in mentions(library)
    assert library.problems() == ()
