"""How often the right skill is found without a model, on a labelled collection of our own."""

import pytest

from skills_runtime.skills.routing import Tuning, index_skills, route_skills, search_index
from skills_runtime.skills.routing.ranking import SkillIndex
from tests.unit.skills.routing.collection import Rank, collection, hit_rates, plain_bm25

SKILLS, TASKS = collection()
ENGLISH = [labelled for labelled in TASKS if labelled.task.isascii()]
CHINESE = [labelled for labelled in TASKS if not labelled.task.isascii()]


def by(index: SkillIndex) -> Rank:
    return lambda task: [choice.skill.name for choice in route_skills(task, SKILLS, index=index).choices]


def test_the_collection_is_in_two_languages_and_every_skill_has_tasks() -> None:
    assert len(SKILLS) >= 40
    assert len(TASKS) >= 140
    assert len(CHINESE) >= 40
    assert {labelled.skill for labelled in TASKS} == {skill.name for skill in SKILLS}


def test_english_tasks_find_their_skill_far_more_often_than_by_plain_bm25() -> None:
    first, five = hit_rates(by(index_skills(SKILLS)), ENGLISH)
    plain_first, plain_five = hit_rates(plain_bm25(SKILLS), ENGLISH)
    assert first >= max(60, plain_first + 25)
    assert five >= max(78, plain_five + 25)


def test_chinese_tasks_find_skills_that_are_written_in_english() -> None:
    first, five = hit_rates(by(index_skills(SKILLS)), CHINESE)
    assert first >= 85
    assert five >= 90


@pytest.mark.parametrize(
    "without",
    [Tuning(synonym=0, related=0), Tuning(translated=0.01), Tuning(coverage=0, name_coverage=0, phrase=0)],
    ids=["related words", "translations", "close comparison"],
)
def test_each_part_of_the_ranking_brings_something(without: Tuning) -> None:
    total = sum(hit_rates(by(index_skills(SKILLS)), TASKS))
    assert sum(hit_rates(by(index_skills(SKILLS, tuning=without)), TASKS)) <= total


def test_a_body_helps_where_the_description_is_silent() -> None:
    bodies = {"git-historian": "Use `git cherry-pick` to carry over single changes."}
    index = index_skills(SKILLS, body=lambda skill: bodies.get(skill.name, ""))
    assert [choice.skill.name for choice in search_index("cherry-pick it", index)][:1] == ["git-historian"]
    assert search_index("cherry-pick it", index_skills(SKILLS)) == ()
