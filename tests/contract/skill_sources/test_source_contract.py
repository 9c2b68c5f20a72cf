"""What every source promises, whatever is behind it."""

import pytest

from skills_runtime.skills import Library, Mention, SkillError
from tests.contract.skill_sources.shelves import NAMESPACE, Published, Shelf

ACTIONS = {"actions": {"go": {"kind": "shell", "argv": ["bash", "actions/go.sh"], "timeout_ms": "500"}}}


def test_what_is_published_is_listed_with_all_that_is_known_of_it(shelf: Shelf) -> None:
    shelf.publish(Published(name="writer", description="Writes.", variables=("API_KEY", "TOKEN"), metadata=ACTIONS))
    report = shelf.source().skills()
    assert report.problems == ()
    (skill,) = report.skills
    assert skill.mention == Mention(NAMESPACE, "writer")
    assert (skill.description, skill.required_env_vars) == ("Writes.", ("API_KEY", "TOKEN"))
    assert skill.metadata["actions"] == ACTIONS["actions"]
    assert (skill.space_id, skill.source_id) == ("space", "shelf")
    assert skill.locator


def test_a_place_without_skills_is_empty_and_nothing_is_wrong_with_it(shelf: Shelf) -> None:
    assert shelf.source().skills().skills == ()
    assert shelf.source().skills().problems == ()


def test_the_text_of_a_skill_is_what_was_published(shelf: Shelf) -> None:
    body = "# 写作\n\nA line with `---` and $[other].name.\n---\n\n<b>é</b>\n"
    shelf.publish(Published(name="writer", description="写文章 – für alle.", body=body))
    source = shelf.source()
    (skill,) = source.skills().skills
    assert skill.description == "写文章 – für alle."
    assert source.body(skill) == body


def test_many_skills_are_all_there_and_each_has_its_own_text(shelf: Shelf) -> None:
    names = [f"skill-{number}" for number in range(40)]
    for name in names:
        shelf.publish(Published(name=name, body=f"I am {name}.\n"))
    library = Library([shelf.source()])
    assert [skill.name for skill in library.list()] == sorted(names)
    assert {library.body(skill) for skill in library.list()} == {f"I am {name}.\n" for name in names}


@pytest.mark.parametrize(("name", "description"), [("Bad Name", "Is bad."), ("x" * 65, "Is long."), ("empty", "  ")])
def test_one_broken_skill_is_reported_and_hides_no_other(name: str, description: str, shelf: Shelf) -> None:
    shelf.publish(Published(name="good"))
    shelf.publish(Published(name=name, description=description))
    shelf.publish(Published(name="other"))
    report = shelf.source().skills()
    usable = [skill.name for skill in report.skills if skill.name in ("good", "other")]
    assert sorted(usable) == ["good", "other"]
    assert [problem.code for problem in report.problems][:1] == ["SKILL_SCAN_METADATA_INVALID"]
    assert all(problem.locator and problem.namespace == NAMESPACE and problem.hint for problem in report.problems)
    assert name[:30] in report.problems[0].name


def test_a_skill_that_is_gone_cannot_be_read_any_more(shelf: Shelf) -> None:
    shelf.publish(Published(name="writer"))
    shelf.publish(Published(name="other"))
    (skill,) = [one for one in shelf.source().skills().skills if one.name == "writer"]
    shelf.remove("writer")
    with pytest.raises(SkillError) as caught:
        shelf.source().body(skill)
    assert caught.value.code == "SKILL_BODY_READ_FAILED"
    assert [one.name for one in shelf.source().skills().skills] == ["other"]


def test_a_namespace_is_not_mixed_up_with_a_longer_one(shelf: Shelf) -> None:
    shelf.publish(Published(name="writer"))
    shelf.publish(Published(name="editor", namespace="web:mvp"))
    found = {space: [one.mention.text for one in shelf.source(space).skills().skills] for space in ("web", "web:mvp")}
    assert found == {"web": ["$[web].writer"], "web:mvp": ["$[web:mvp].editor"]}


def test_a_library_finds_a_mention_in_it(shelf: Shelf) -> None:
    shelf.publish(Published(name="writer", body="Write.\n"))
    library = Library([shelf.source()])
    (skill,) = library.resolve("use $[web].writer, please")
    assert library.body(skill) == "Write.\n"


def test_searching_twice_finds_the_same(shelf: Shelf) -> None:
    for name in ("one", "two", "three"):
        shelf.publish(Published(name=name))
    source = shelf.source()
    first, second = ([skill.locator for skill in source.skills().skills] for _ in range(2))
    assert first == second
