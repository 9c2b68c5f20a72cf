"""Trust in single skills: one counts, the others of its project do not."""

from pathlib import Path

import pytest

from skills_runtime.errors import NotFound
from skills_runtime.skills import Report, SkillError
from skills_runtime.skills.discovery import TrustedPaths, TrustStore
from skills_runtime.skills.sources.filesystem_index import IndexedSource
from tests.unit.skills.discovery.homes import User, codes, mentions, put


@pytest.fixture
def user(tmp_path: Path) -> User:
    user = User(tmp_path)
    for name in ("made-here", "cloned"):
        put(user.project / ".agents/skills", name)
    return user


def store_of(user: User) -> TrustStore:
    return TrustStore(user.discovery_paths().state)


def trust_skill(user: User, name: str) -> None:
    store_of(user).trust_skill(user.project / ".agents/skills" / name)


def test_one_skill_is_trusted_and_no_other_of_its_project(user: User) -> None:
    trust_skill(user, "made-here")
    library = user.library()
    assert mentions(library) == ["$[project].made-here"]
    assert library.body(library.find_by_name("made-here")) == user_text(user, "made-here")
    assert [skill.name for skill in library.untrusted()] == ["cloned"]
    assert codes(library) == [("SKILL_FOLDER_UNTRUSTED", "")]


def user_text(user: User, name: str) -> str:
    return (user.project / ".agents/skills" / name / "SKILL.md").read_text().split("---\n", 2)[2]


@pytest.mark.parametrize("name", ["cloned", "project:cloned"])
def test_an_untrusted_skill_says_so_and_names_the_command(user: User, name: str) -> None:
    trust_skill(user, "made-here")
    with pytest.raises(SkillError) as caught:
        user.library().find_by_name(name)
    assert (caught.value.code, caught.value.kind) == ("SKILL_UNTRUSTED", "permission")
    assert "`skills trust cloned`" in caught.value.hint


def test_nothing_is_untrusted_any_more_once_each_skill_is_trusted(user: User) -> None:
    trust_skill(user, "made-here")
    trust_skill(user, "cloned")
    assert mentions(user.library()) == ["$[project].cloned", "$[project].made-here"]
    assert codes(user.library()) == []


def test_a_broken_skill_beside_a_trusted_one_is_not_reported_as_if_it_counted(user: User) -> None:
    put(user.project / ".agents/skills", "odd").joinpath("SKILL.md").write_text("broken")
    trust_skill(user, "made-here")
    assert codes(user.library()) == [("SKILL_FOLDER_UNTRUSTED", "")]


def test_a_trusted_skill_that_became_a_link_is_not_trusted(user: User) -> None:
    trust_skill(user, "made-here")
    directory = user.project / ".agents/skills/made-here"
    directory.rename(user.project / "moved")
    directory.symlink_to(user.project / "moved")
    assert mentions(user.library()) == []


def test_revoking_the_trust_in_a_project_revokes_that_in_its_skills(user: User) -> None:
    trust_skill(user, "made-here")
    user.trust()
    assert store_of(user).forget(user.project) is True
    assert store_of(user).read() == TrustedPaths()


def test_trust_in_a_skill_can_be_taken_back(user: User) -> None:
    store, directory = store_of(user), user.project / ".agents/skills/made-here"
    assert (store.trust_skill(directory), store.trust_skill(directory)) == (True, False)
    assert (store.forget_skill(directory), store.forget_skill(directory)) == (True, False)
    assert mentions(user.library()) == []
    with pytest.raises(NotFound):
        store.trust_skill(user.project / "nowhere")


def test_a_changed_skill_is_noticed_while_it_is_trusted(user: User) -> None:
    trust_skill(user, "made-here")
    library = user.library()
    library.list()
    put(user.project / ".agents/skills", "made-here", where="elsewhere")
    assert library.refresh() is True
    assert [skill.description for skill in library.list()] == ["From elsewhere."]


def test_untrusted_skills_are_not_searched_before_one_is_named(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    search = IndexedSource.skills

    def record(source: IndexedSource) -> Report:
        searched.append(source.origin.namespace)
        return search(source)

    monkeypatch.setattr(IndexedSource, "skills", record)
    library = user.library()
    assert library.list() == ()
    assert searched == []
    assert library.untrusted() != ()
    assert searched == ["project"]
