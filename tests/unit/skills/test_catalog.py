"""The list of available skills: what fits is there, and what does not is counted."""

from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.skills.catalog import BUDGET, listed
from tests.unit.skills.samples import a_skill


def many(count: int, *, description: str = "x" * 300) -> list[str]:
    return listed([a_skill(f"skill-{number:05}", description=description) for number in range(count)]).splitlines()


def test_a_few_skills_are_listed_with_all_they_say() -> None:
    assert listed([a_skill(), a_skill("editor", description="Edits.")]).splitlines()[1:] == [
        "- $[web:mvp].writer: Writes things.",
        "- $[web:mvp].editor: Edits.",
    ]


def test_no_skills_are_no_list() -> None:
    assert listed([]) == ""


def test_many_skills_lose_words_before_any_is_left_out() -> None:
    shortened = many(60)
    assert len(shortened) == 62
    assert shortened[1].endswith("…")
    assert shortened[-1] == "(Descriptions are cut to 80 characters.)"


def test_more_skills_are_listed_by_name_only() -> None:
    bare = many(200)
    assert bare[1] == "- $[web:mvp].skill-00000"
    assert len(bare) == 202
    assert bare[-1] == "(Descriptions are left out for space.)"


def test_skills_that_do_not_fit_are_counted() -> None:
    lines = many(10_000)
    assert lines[-1] == f"({10_000 - (len(lines) - 2)} more skills do not fit into this list.)"
    assert len(lines) > 200


def test_a_single_very_long_description_is_cut_and_that_is_said() -> None:
    _, line, note = listed([a_skill(description="x" * 60_000)]).splitlines()
    assert line == f"- $[web:mvp].writer: {'x' * 399}…"
    assert note == "(Descriptions are cut to 400 characters.)"


@given(st.lists(st.text(max_size=200), max_size=60), st.integers(min_value=300, max_value=3000))
def test_the_list_keeps_its_budget_and_accounts_for_every_skill(descriptions: list[str], budget: int) -> None:
    skills = [a_skill(f"skill-{number:03}", description=text or "x") for number, text in enumerate(descriptions)]
    lines = listed(skills, budget=budget).splitlines()
    assert sum(len(line) + 1 for line in lines) <= budget
    shown = [line for line in lines if line.startswith("- ")]
    left_out = len(skills) - len(shown)
    assert left_out == 0 or lines[-1] == f"({left_out} more skills do not fit into this list.)"


@given(st.text(max_size=60))
def test_a_description_is_one_line_that_opens_nothing(description: str) -> None:
    (_, line) = listed([a_skill(description=description)]).split("\n")
    assert line.startswith("- $[web:mvp].writer: ")
    assert "<" not in line


def test_the_budget_holds_for_ten_thousand_skills() -> None:
    assert sum(len(line) + 1 for line in many(10_000)) <= BUDGET
