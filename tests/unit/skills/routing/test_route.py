"""Which rule decides: a mention before a trigger, a trigger before a file, and words where nothing is declared."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.events import data_of
from skills_runtime.skills import Skill
from skills_runtime.skills.routing import build_routing_event, index_skills, route_skills, search_index
from skills_runtime.skills.routing.ranking import find_paths
from tests.unit.skills.samples import a_skill


def declaring(name: str, description: str = "Does something.", **metadata: Any) -> Skill:
    return msgspec.structs.replace(a_skill(name, description=description), metadata=metadata)


SLIDES = a_skill("slides", description="Makes presentations. Not for spreadsheets.")
SHEETS = a_skill("sheets", description="Edits spreadsheets and csv files.", locator="memory://rows/sheets")
DEPLOY = declaring("deploy-prod", "Ships the service.", triggers=["ship it", "ship it to production"])
STYLES = declaring("styles", "Writes stylesheets.", paths="src/**/*.css, *.{scss,less}")
HIDDEN = declaring("hidden", "Makes presentations and decks.", **{"disable-model-invocation": "true"})
SKILLS = [SLIDES, SHEETS, DEPLOY, STYLES, HIDDEN]


def route_names(task: str, **options: Any) -> list[tuple[str, str]]:
    return [(choice.skill.name, choice.rule) for choice in route_skills(task, SKILLS, **options).choices]


@pytest.mark.parametrize(
    "task", ["$sheets please", "/sheets now", "use $[web:mvp].sheets", "[$sheets](memory://rows/sheets) it"]
)
def test_a_mention_comes_first_in_every_form(task: str) -> None:
    routing = route_skills(f"{task}", SKILLS)
    assert (routing.choices[0].skill, routing.choices[0].rule) == (SHEETS, "mention")
    assert routing.decided_by == "mention"


def test_a_mention_beats_a_trigger_and_a_trigger_beats_words() -> None:
    assert route_names("ship it with $sheets and make presentations")[:3] == [
        ("sheets", "mention"),
        ("deploy-prod", "trigger"),
        ("slides", "words"),
    ]


def test_the_longest_trigger_is_the_reason() -> None:
    (first, *_) = route_skills("please SHIP IT to production", SKILLS).choices
    assert "ship it to production" in first.reason


def test_a_trigger_inside_another_word_does_not_count() -> None:
    assert ("deploy-prod", "trigger") not in route_names("the airship item")


def test_a_file_the_task_is_about_decides() -> None:
    assert route_names("fix it", paths=["src/app/main.css"])[0] == ("styles", "path")
    assert route_names("fix theme.scss please")[0] == ("styles", "path")
    assert route_names("fix it", paths=["main.py"]) == []


def test_a_skill_for_other_files_is_not_suggested_by_words() -> None:
    assert route_names("write stylesheets") == [("styles", "words")]
    assert route_names("write stylesheets", paths=["main.py"]) == []


def test_words_are_a_suggestion_that_the_model_decides_on() -> None:
    routing = route_skills("a presentation for monday", SKILLS)
    assert [(choice.skill.name, choice.rule) for choice in routing.choices] == [("slides", "words")]
    assert routing.decided_by == "model"
    assert routing.certain == ()
    assert routing.choices[0].words == ("presentation",)


def test_exclusions_of_a_skill_lower_its_rank() -> None:
    first_skill = a_skill("a1", description="Edits documents and letters. Not for tables.")
    other = a_skill("b1", description="Edits documents and letters and books.")
    assert [choice.skill for choice in route_skills("edit documents", [first_skill, other]).choices] == [
        first_skill,
        other,
    ]
    assert route_skills("edit documents with tables", [first_skill, other]).choices[0].skill == other


def test_a_skill_for_people_only_is_chosen_by_its_name_alone() -> None:
    assert all(name != "hidden" for name, _ in route_names("make decks and presentations"))
    assert route_names("$hidden please")[0] == ("hidden", "mention")
    assert all(choice.skill.name != "hidden" for choice in search_index("presentations", index_skills(SKILLS)))


def test_a_name_that_two_skills_have_decides_nothing() -> None:
    twin = msgspec.structs.replace(SHEETS, namespace="other")
    routing = route_skills("$sheets please", [SHEETS, twin])
    assert routing.certain == ()
    assert route_skills("$[other].sheets please", [SHEETS, twin]).certain[0].skill == twin


def test_what_skills_declare_counts_even_where_they_are_not_ranked() -> None:
    routing = route_skills("ship it with a presentation", SKILLS, index=index_skills(()))
    assert [(choice.skill, choice.rule) for choice in routing.choices] == [(DEPLOY, "trigger")]
    assert routing.considered == len(SKILLS)


def test_no_more_than_the_limit_are_chosen() -> None:
    skills = [a_skill(f"writer-{number:02}") for number in range(20)]
    assert len(route_skills("write things", skills, limit=3).choices) == 3
    assert route_skills("write things", skills, limit=0).choices == ()


def test_the_order_of_the_skills_changes_nothing() -> None:
    skills = [a_skill(f"writer-{number:02}") for number in range(9)]
    assert route_skills("write things", skills[::-1]).choices == route_skills("write things", skills).choices


def test_a_misspelled_word_and_a_compound_still_find_their_skill() -> None:
    assert route_names("make a presentatoin")[:1] == [("slides", "words")]
    webapp = a_skill("web-app-builder", description="Builds a web app.")
    assert route_skills("my webapp", [webapp, SHEETS]).choices[0].skill == webapp


def test_the_event_tells_the_rule_the_score_and_the_reason() -> None:
    event = build_routing_event(route_skills("ship it\nnow", SKILLS))
    assert data_of(event) == {
        "asked": "ship it now",
        "decided_by": "trigger",
        "considered": 5,
        "choices": [
            {
                "mention": "$[web:mvp].deploy-prod",
                "rule": "trigger",
                "score": 1.0,
                "reason": "the task says `ship it`, which it declares as a trigger",
            }
        ],
    }


@given(st.text(max_size=300))
def test_any_task_is_routed(task: str) -> None:
    routing = route_skills(task, SKILLS, paths=[task])
    assert all(choice.reason for choice in routing.choices)


def test_a_task_of_a_million_letters_is_routed() -> None:
    assert route_skills("x" * 1_000_000 + " @" * 100_000, SKILLS).choices == ()


@pytest.mark.parametrize(
    ("task", "paths"),
    [
        ("look at src/app.py, please", ["src/app.py"]),
        ("(see ./a/b.test.ts).", ["./a/b.test.ts"]),
        ("version 2.4 of it", []),
        ("修改 docs/读我.md。", ["docs/读我.md"]),
    ],
)
def test_files_are_seen_in_a_task(task: str, paths: list[str]) -> None:
    assert find_paths(task) == paths
