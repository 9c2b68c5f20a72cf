"""Which directories skills are found in, and which of two skills with one name counts."""

from pathlib import Path
from typing import Any

import pytest

from skills_runtime.skills import SkillError
from skills_runtime.skills.discovery.roots import CLIENTS
from skills_runtime.skills.skill import is_namespace
from tests.unit.skills.discovery.homes import User, codes, mentions, put
from tests.unit.skills.samples import make_skill, skill_text


@pytest.fixture
def user(tmp_path: Path) -> User:
    user = User(tmp_path)
    user.trust()
    return user


def test_nothing_is_found_where_nothing_is(user: User) -> None:
    assert (mentions(user.library()), codes(user.library())) == ([], [])


def test_skills_are_found_in_every_place(user: User) -> None:
    put(user.project / ".skills_runtime_sdk/skills", "own-one")
    put(user.project / ".agents/skills", "shared-one")
    put(user.project / "packages/web/.agents/skills", "inner-one")
    put(user.home / ".config/skills_runtime/skills", "own-two")
    put(user.home / ".agents/skills", "shared-two")
    put(user.home / ".config/agents/skills", "xdg-two")
    put(user.admin, "admin-three")
    assert mentions(user.library("packages/web")) == [
        "$[project].shared-one",
        "$[project:in:packages:web].inner-one",
        "$[project:own].own-one",
        "$[system].admin-three",
        "$[user].shared-two",
        "$[user:own].own-two",
        "$[user:xdg].xdg-two",
    ]


@pytest.mark.parametrize("client", CLIENTS)
def test_the_directories_of_other_programs_count_unless_they_are_switched_off(user: User, client: str) -> None:
    put(user.project / f".{client}/skills", "theirs")
    put(user.home / f".{client}/skills", "mine")
    assert mentions(user.library()) == [f"$[project:{client}].theirs", f"$[user:{client}].mine"]
    assert mentions(user.library(other_clients=False)) == []


@pytest.mark.parametrize(
    ("off", "left"),
    [
        ("enabled", []),
        ("project", ["user", "system"]),
        ("user", ["project", "system"]),
        ("system", ["project", "user"]),
    ],
)
def test_each_kind_of_place_can_be_switched_off(user: User, off: str, left: list[str]) -> None:
    for root, name in (
        (user.project / ".agents/skills", "project"),
        (user.home / ".agents/skills", "user"),
        (user.admin, "system"),
    ):
        put(root, f"{name}-skill")
    switched: dict[str, Any] = {off: False}
    assert sorted(mentions(user.library(**switched))) == sorted(f"$[{name}].{name}-skill" for name in left)


def test_only_the_directory_itself_counts_outside_a_repository(user: User) -> None:
    (user.project / ".git").rmdir()
    put(user.project / ".agents/skills", "above")
    put(user.project / "inner/.agents/skills", "here")
    inner = user.discovery_paths("inner")
    assert inner.workspace == user.project / "inner"
    (problem,) = user.library("inner").problems()
    assert problem.code == "SKILL_FOLDER_UNTRUSTED"
    assert problem.details["directories"] == [str(user.project / "inner/.agents/skills")]


def test_the_nearest_skill_of_a_name_counts_and_hides_the_others(user: User) -> None:
    put(user.project / "inner/.agents/skills", "writer", where="inner")
    put(user.project / ".agents/skills", "writer", where="project")
    put(user.home / ".agents/skills", "writer", where="user")
    put(user.admin, "writer", where="system")
    library = user.library("inner")
    assert mentions(library) == ["$[project:in:inner].writer"]
    assert library.find_by_name("writer").description == "From inner."
    hidden = [problem for problem in library.problems() if problem.code == "SKILL_SHADOWED"]
    assert [(problem.severity, problem.namespace) for problem in hidden] == [
        ("notice", "project"),
        ("notice", "user"),
        ("notice", "system"),
    ]
    assert all("$[project:in:inner].writer" in problem.message and problem.details["by_locator"] for problem in hidden)
    assert library.find(library.all()[1].mention).description == "From project."


def test_what_is_meant_for_everybody_comes_before_what_is_meant_for_another_program(user: User) -> None:
    put(user.home / ".claude/skills", "writer", where="claude")
    put(user.home / ".agents/skills", "writer", where="agents")
    assert user.library().find_by_name("writer").description == "From agents."


def test_a_name_that_two_equally_near_skills_have_is_refused_with_both_names(user: User) -> None:
    put(user.home / ".claude/skills", "writer", where="claude")
    put(user.home / ".codex/skills", "writer", where="codex")
    put(user.home / ".codex/skills", "reader")
    library = user.library()
    with pytest.raises(SkillError) as caught:
        library.find_by_name("writer")
    assert caught.value.code == "SKILL_NAME_AMBIGUOUS"
    assert caught.value.hint == "say which: `$[user:claude].writer` or `$[user:codex].writer`"
    assert ("SKILL_NAME_AMBIGUOUS", "writer") in codes(library)
    assert library.resolve("$[user:codex].writer")[0].description == "From codex."
    assert library.find_by_name("reader").name == "reader"


def test_copies_of_one_skill_are_one_skill(user: User) -> None:
    for client in ("claude", "codex"):
        put(user.home / f".{client}/skills", "writer", where="everywhere")
    library = user.library()
    assert library.find_by_name("writer").namespace == "user:claude"
    assert mentions(library) == ["$[user:claude].writer"]
    (problem,) = library.problems()
    assert "is a copy of `$[user:claude].writer`" in problem.message


def test_what_settings_name_comes_before_everything_that_is_found(user: User, tmp_path: Path) -> None:
    from skills_runtime.config.models import SkillsSettings
    from skills_runtime.skills import build_library

    put(tmp_path / "named", "writer", where="settings")
    put(user.project / ".agents/skills", "writer", where="project")
    settings = SkillsSettings.model_validate(
        {
            "spaces": [{"id": "a", "namespace": "web", "sources": ["f"]}],
            "sources": [{"id": "f", "type": "filesystem", "options": {"root": str(tmp_path / "named")}}],
        }
    )
    library = build_library(settings, user.project, paths=user.discovery_paths())
    assert library.find_by_name("writer").description == "From settings."
    assert mentions(library) == ["$[web].writer"]
    assert library.body(library.find_by_name("writer")) == "Do it.\n"


def test_a_workspace_at_home_has_the_skills_of_the_user(user: User) -> None:
    put(user.home / ".agents/skills", "writer")
    from skills_runtime.skills import build_library
    from skills_runtime.skills.discovery import resolve_discovery_paths

    library = build_library(
        user.settings(), user.home, paths=resolve_discovery_paths(user.home, {"HOME": str(user.home)})
    )
    assert (mentions(library), codes(library)) == (["$[user].writer"], [])


def test_one_directory_under_two_names_is_searched_once(user: User) -> None:
    put(user.home / ".agents/skills", "writer")
    (user.home / ".claude").mkdir()
    (user.home / ".claude/skills").symlink_to("../.agents/skills")
    assert (mentions(user.library()), codes(user.library())) == (["$[user].writer"], [])


def test_the_skills_of_a_project_stay_inside_of_it(user: User, tmp_path: Path) -> None:
    put(tmp_path / "elsewhere", "writer")
    (user.project / ".agents").mkdir()
    (user.project / ".agents/skills").symlink_to(tmp_path / "elsewhere")
    library = user.library()
    assert mentions(library) == []
    (problem,) = library.problems()
    assert (problem.code, "leads out of the project" in problem.message) == ("SKILL_SCAN_LINK_SKIPPED", True)


def test_a_link_in_a_circle_is_reported_and_hides_nothing(user: User) -> None:
    put(user.home / ".agents/skills", "writer")
    (user.home / ".claude").mkdir()
    (user.home / ".claude/skills").symlink_to("skills")
    library = user.library()
    assert mentions(library) == ["$[user].writer"]
    (problem,) = library.problems()
    assert "circle" in problem.message
    assert ".claude/skills" in problem.locator


def test_a_search_is_bounded_and_says_so(user: User) -> None:
    for number in range(6):
        put(user.home / ".agents/skills", f"skill-{number}")
    library = user.library(max_dirs_per_root=4)
    assert len(library.list()) == 3
    (problem,) = library.problems()
    assert "skills.discovery.max_dirs_per_root" in problem.message


@pytest.mark.parametrize("inner", ["a", "Über/Straße", "a/b/c/d/e/f/g", "x" * 200, "in", "..x/--/_"])
def test_every_directory_of_a_project_has_a_namespace_of_its_own(user: User, inner: str) -> None:
    put(user.project / inner / ".agents/skills", "writer")
    put(user.project / inner / ".claude/skills", "reader")
    found = user.library(inner).list()
    assert len({skill.namespace for skill in found}) == 2
    assert all(is_namespace(skill.namespace) for skill in found)


def test_a_name_may_say_its_namespace(user: User) -> None:
    put(user.home / ".agents/skills", "writer")
    library = user.library()
    assert library.find_by_name("user:writer").name == "writer"
    with pytest.raises(SkillError) as caught:
        library.find_by_name("nobody:writer")
    assert caught.value.code == "SKILL_UNKNOWN"


def test_a_name_that_is_wrong_by_a_letter_is_told_the_right_one(user: User) -> None:
    put(user.home / ".agents/skills", "article-writer")
    with pytest.raises(SkillError) as caught:
        user.library().find_by_name("artcle-writer")
    assert (caught.value.code, caught.value.hint) == ("SKILL_UNKNOWN", "did you mean `article-writer`?")


def test_the_name_of_a_broken_skill_says_what_is_broken(user: User) -> None:
    make_skill(user.home / ".agents/skills", "writer", text="broken")
    make_skill(user.home / ".agents/skills", "reader", text=skill_text("reader"))
    with pytest.raises(SkillError, match="`writer` cannot be used"):
        user.library().find_by_name("writer")
