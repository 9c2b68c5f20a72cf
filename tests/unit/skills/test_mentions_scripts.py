"""Every name that the standard allows can be typed: in any script, and with one letter."""

import unicodedata
from pathlib import Path

import pytest

from skills_runtime.skills import Library
from skills_runtime.skills.mentions import resolve_mentions
from skills_runtime.testing import FakeModel, says
from tests.support.agents import agent_in
from tests.unit.skills.samples import make_skill, skill_text
from tests.unit.skills.sources.test_filesystem import source_at

NAMES = ("技能", "мой-навык", "a", "writer", "café", "数据")


@pytest.fixture
def library(tmp_path: Path) -> Library:
    for name in NAMES:
        make_skill(tmp_path, name, text=skill_text(name))
    return Library([source_at(tmp_path)])


def find_names(text: str, library: Library) -> list[str]:
    return [skill.name for skill in resolve_mentions(text, library).skills]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["/{} x", "use ${}.", "(${})", "[${0}]({0}/SKILL.md)", "${}: do it", "${}，然后"])
def test_a_legal_name_is_a_mention_in_every_form(text: str, name: str, library: Library) -> None:
    assert find_names(text.format(name), library) == [name]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("请用$技能写一篇", ["技能"]), ("用$数据和$技能", ["数据", "技能"]), ("$writer写一篇", ["writer"]),
        ("$web:mvp:技能 now", ["技能"]), (f"${unicodedata.normalize('NFD', 'café')} now", ["café"]),
    ],
)  # fmt: skip
def test_where_words_have_no_spaces_the_known_name_tells_where_it_ends(
    text: str, names: list[str], library: Library
) -> None:
    assert find_names(text, library) == names


@pytest.mark.parametrize(
    "text",
    [
        "$b", "/b x", "$a=1", "$a.b", "$a[0]", "f($a(1))", "${a}", "a$a", "$ab", "$a-b", "$a_", "`$技能`", "\\$技能",
        "$мой-навыки", "$技能=1", "$技能/x", "$技能A", "/技能/x", "价格$5", "$５",
    ],
)  # fmt: skip
def test_what_is_a_variable_a_path_or_another_word_is_text(text: str, library: Library) -> None:
    assert find_names(text, library) == []


def test_a_slip_behind_a_slash_is_reported(library: Library) -> None:
    (notice,) = resolve_mentions("/мой-навик now", library).notices
    assert "мой-навик" in notice.message


@pytest.mark.parametrize("name", ["技能", "a"])
def test_a_run_begins_with_the_skill_of_such_a_name(tmp_path: Path, name: str) -> None:
    make_skill(tmp_path / "skills", name, text=skill_text(name, body="BODYTEXT\n"))
    model = FakeModel([says("done")])
    spaces = [{"id": "s", "namespace": "web:mvp", "sources": ["f"]}]
    sources = [{"id": "f", "type": "filesystem", "options": {"root": "skills"}}]
    settings = {"skills": {"spaces": spaces, "sources": sources, "discovery": {"enabled": False}}}
    agent_in(tmp_path, model, settings=settings).run(f"/{name} x")
    assert "BODYTEXT" in str(model.requests[0].messages)
