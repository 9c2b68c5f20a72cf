"""A library: one search, names that lead to one skill each, and errors that help."""

from pathlib import Path

import pytest

from skills_runtime.skills import Library, MemorySource, Mention, Origin, Report, Skill, SkillError
from tests.unit.skills.samples import a_skill, library_at, library_of, make_skill, row, skill_text


class Counting:
    """A source that counts how often it is searched."""

    origin = Origin("space", "web:mvp", "rows")

    def __init__(self) -> None:
        self.searches = 0

    def skills(self) -> Report:
        self.searches += 1
        return Report((a_skill("writer"), a_skill("editor")))

    def body(self, skill: Skill) -> str:
        return f"body of {skill.name}"


def resolve_error(library: Library, text: str) -> SkillError:
    with pytest.raises(SkillError) as caught:
        library.resolve(text)
    return caught.value


def test_a_library_searches_once_and_only_when_it_is_asked() -> None:
    source = Counting()
    library = Library([source])
    assert source.searches == 0
    for _ in range(3):
        library.resolve("$[web:mvp].writer")
        library.list()
        library.problems()
        resolve_error(library, "$[web:mvp].nobody")
    assert source.searches == 1


def test_a_text_without_mentions_searches_nothing() -> None:
    source = Counting()
    assert Library([source]).resolve("just a task with $HOME and $[x") == ()
    assert source.searches == 0


def test_mentioned_skills_come_once_and_in_the_order_of_the_text() -> None:
    library = Library([Counting()])
    skills = library.resolve("$[web:mvp].writer then $[web:mvp].editor and $[web:mvp].writer")
    assert [skill.name for skill in skills] == ["writer", "editor"]
    assert library.body(skills[1]) == "body of editor"


def test_skills_are_listed_by_namespace_and_name() -> None:
    library = Library(
        [
            MemorySource(Origin("b", "zoo", "rows"), [row("cat"), row("ant")]),
            MemorySource(Origin("a", "art", "rows"), [row("pen")]),
        ]
    )
    assert [skill.mention.text for skill in library.list()] == ["$[art].pen", "$[zoo].ant", "$[zoo].cat"]


def test_an_unknown_name_is_an_error_that_names_the_nearest() -> None:
    error = resolve_error(library_of(row("article-writer"), row("editor")), "use $[web:mvp].artical-writer")
    assert (error.code, error.kind) == ("SKILL_UNKNOWN", "not_found")
    assert "`$[web:mvp].artical-writer`" in error.message
    assert "`$[web:mvp].article-writer`" in error.hint
    assert error.details["mention"] == "$[web:mvp].artical-writer"


def test_an_unknown_namespace_is_an_error_that_names_the_nearest() -> None:
    error = resolve_error(library_of(row()), "$[web:mvq].writer")
    assert error.code == "SKILL_SPACE_NOT_CONFIGURED"
    assert "`web:mvp`" in error.hint
    assert "skills.spaces" in resolve_error(Library(), "$[web:mvp].writer").hint


def test_two_skills_of_one_name_are_refused_by_name_and_all_others_work(tmp_path: Path) -> None:
    for place in ("one", "two"):
        make_skill(tmp_path, place, text=skill_text("twin"))
    make_skill(tmp_path, "writer")
    library = library_at(tmp_path)
    error = resolve_error(library, "$[web:mvp].twin")
    assert error.code == "SKILL_DUPLICATE_NAME"
    assert "one/SKILL.md" in error.message
    assert "two/SKILL.md" in error.message
    assert [skill.name for skill in library.list()] == ["writer"]
    errors = [problem.code for problem in library.problems() if problem.severity == "error"]
    assert errors == ["SKILL_DUPLICATE_NAME"]
    assert library.find(Mention("web:mvp", "writer")).name == "writer"


def test_a_mention_of_a_broken_skill_says_what_is_broken(tmp_path: Path) -> None:
    make_skill(tmp_path, "writer", text="---\nname: writer\n---\n")
    error = resolve_error(library_at(tmp_path), "$[web:mvp].writer")
    assert error.code == "SKILL_SCAN_METADATA_INVALID"
    assert "description" in error.message
    assert str(tmp_path) in error.message


def test_a_mention_into_a_place_that_is_not_there_says_so(tmp_path: Path) -> None:
    error = resolve_error(library_at(tmp_path / "nowhere"), "$[web:mvp].writer")
    assert error.code == "SKILL_UNKNOWN"
    assert "nowhere" in error.message


def test_a_skill_of_another_library_has_no_body_here() -> None:
    with pytest.raises(SkillError, match="not a skill of this library"):
        Library().body(a_skill())


def test_variables_are_those_a_skill_declares_and_the_user_set() -> None:
    library = library_of(row(required_env_vars=("KEY", "EMPTY", "NONE")), KEY="k", EMPTY="", OTHER="o")
    (skill,) = library.list()
    assert library.variables(skill) == {"KEY": "k"}
    assert library.missing(skill) == ("EMPTY", "NONE")
    library.set_variable("EMPTY", "now")
    assert library.variables(skill) == {"KEY": "k", "EMPTY": "now"}
    assert library.missing(skill) == ("NONE",)


def test_values_of_variables_are_not_shown() -> None:
    assert "s3cret" not in repr(library_of(row(), KEY="s3cret"))
