"""The list of available skills: what fits is there, what does not is told, and the same skills give the same bytes."""

import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.skills import Skill
from skills_runtime.skills.catalog import (
    Catalog,
    CatalogDelta,
    build_catalog,
    build_catalog_event,
    compute_budget,
    compute_delta,
    compute_mark,
    estimate_tokens,
    shorten,
)
from skills_runtime.skills.skill import people_may_call
from tests.unit.skills.samples import a_skill

LONG = (
    "Reads text and tables from files. Writes them down again elsewhere. Use it for forms and for reports of all kinds."
)


def described_skill(name: str = "writer", *, description: str = "Writes things.", **fields: Any) -> Skill:
    metadata = {key.replace("_", "-") if key != "when_to_use" else key: value for key, value in fields.items()}
    return msgspec.structs.replace(a_skill(name, description=description), metadata=metadata)


def list_text(skills: Sequence[Skill]) -> str:
    return build_catalog(skills).text


def many(count: int, *, description: str = LONG) -> list[Skill]:
    return [a_skill(f"skill-{number:05}", description=description) for number in range(count)]


def test_a_few_skills_are_listed_with_all_they_say() -> None:
    catalog = build_catalog([a_skill(), a_skill("editor", description="Edits.")])
    assert catalog.text.splitlines()[1:] == ["- $[web:mvp].editor: Edits.", "- $[web:mvp].writer: Writes things."]
    assert (catalog.report.level, catalog.report.offered, catalog.report.reason) == ("full", 2, "")


def test_no_skills_are_no_list() -> None:
    assert list_text([]) == ""


def test_many_skills_lose_words_before_any_is_left_out() -> None:
    catalog = build_catalog(many(100))
    lines = catalog.text.splitlines()
    assert catalog.report.level == "shortened"
    assert (catalog.report.offered, catalog.report.shortened, catalog.report.omitted) == (100, 100, 0)
    assert len({line.partition(": ")[2] for line in lines[1:-1]}) == 1
    assert lines[-1].startswith("(Descriptions are cut to ")


def test_a_short_description_stays_whole_when_the_long_ones_are_cut() -> None:
    text = build_catalog([*many(100), a_skill("tiny", description="Small.")]).text
    assert "\n- $[web:mvp].tiny: Small.\n" in text


def test_more_skills_are_listed_by_name_only() -> None:
    catalog = build_catalog(many(150))
    assert catalog.text.splitlines()[1] == "- $[web:mvp].skill-00000"
    assert catalog.text.endswith("(Descriptions are left out for space.)")
    assert (catalog.report.level, catalog.report.shortened, catalog.report.omitted) == ("names", 150, 0)


def test_skills_that_do_not_fit_are_counted_and_the_tool_that_finds_them_is_named() -> None:
    catalog = build_catalog(many(10_000), search_tool="skill_search")
    report = catalog.report
    assert report.level == "search"
    assert report.offered + report.omitted == 10_000
    last = f"({report.omitted} more skills are not listed; find them with the tool `skill_search`.)"
    assert catalog.text.splitlines()[-1] == last
    assert str(report.omitted) in report.reason


def test_without_a_tool_the_list_names_none() -> None:
    assert build_catalog(many(10_000)).text.endswith("more skills do not fit into this list.)")


def test_the_order_in_which_skills_are_found_does_not_change_a_byte() -> None:
    skills = many(60)
    shuffled = skills.copy()
    random.Random(7).shuffle(shuffled)
    assert build_catalog(shuffled) == build_catalog(skills)


def test_a_skill_that_only_people_may_call_is_not_offered() -> None:
    catalog = build_catalog([a_skill(), described_skill("secret", disable_model_invocation="true")])
    assert "secret" not in catalog.text
    assert (catalog.report.offered, catalog.report.hidden) == (1, 1)


def test_a_skill_that_people_may_not_call_is_offered_to_the_model() -> None:
    skill = described_skill("background", user_invocable="false")
    assert not people_may_call(skill)
    assert "background" in list_text([skill])


def test_when_to_use_it_is_part_of_what_a_skill_says() -> None:
    assert list_text([described_skill(when_to_use="a text is asked for")]).endswith(
        "Writes things. Use when: a text is asked for"
    )


def test_its_own_short_form_is_used_where_the_whole_does_not_fit() -> None:
    skill = described_skill("brief", description=LONG, short_description="Reads tables.")
    assert "- $[web:mvp].brief: Reads tables.\n" in build_catalog([*many(100), skill]).text
    assert LONG in list_text([skill])


def test_one_very_long_description_is_cut_with_a_note() -> None:
    catalog = build_catalog([a_skill(description="word " * 12_000)])
    assert catalog.report.level == "shortened"
    assert len(catalog.text) < 2000


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("One sentence. Another one follows here.", 20, "One sentence."),
        ("Some words without any end to them", 20, "Some words without…"),
        ("x" * 50, 10, "x" * 9 + "…"),
        ("short", 10, "short"),
        ("第一句话说明用途。第二句话很长很长很长", 12, "第一句话说明用途。"),
    ],
)
def test_a_cut_is_made_between_sentences_or_words(text: str, limit: int, expected: str) -> None:
    assert shorten(text, limit) == expected


@given(st.text(max_size=300), st.integers(min_value=2, max_value=200))
def test_a_cut_never_exceeds_its_limit(text: str, limit: int) -> None:
    assert len(shorten(text, limit)) <= limit


@given(st.lists(st.text(max_size=200), max_size=40), st.integers(min_value=150, max_value=1500))
def test_the_list_keeps_its_budget_and_accounts_for_every_skill(descriptions: list[str], budget: int) -> None:
    skills = [a_skill(f"skill-{number:03}", description=text or "x") for number, text in enumerate(descriptions)]
    catalog = build_catalog(skills, budget_tokens=budget)
    assert estimate_tokens(catalog.text) == catalog.report.tokens <= budget
    lines = [line for line in catalog.text.splitlines() if line.startswith("- ")]
    assert (len(lines), len(skills) - len(lines)) == (catalog.report.offered, catalog.report.omitted)


@given(st.text(max_size=60))
def test_a_description_is_one_line_that_opens_nothing(description: str) -> None:
    lines = list_text([a_skill(description=description)]).split("\n")
    assert lines[1].startswith("- $[web:mvp].writer")
    assert len(lines) == 2
    assert "<" not in lines[1]


def test_the_budget_is_a_share_of_the_window_with_a_floor_unless_it_is_fixed() -> None:
    assert compute_budget(200_000) == 4000
    assert compute_budget(8_000) == 1000
    assert compute_budget(200_000, share=0.01) == 2000
    assert compute_budget(200_000, max_tokens=300) == 300


def test_chinese_counts_more_tokens_than_as_many_english_letters() -> None:
    assert estimate_tokens("翻译这个表格") == 6
    assert estimate_tokens("table") == 1


def test_the_event_tells_what_the_report_does() -> None:
    catalog = build_catalog(many(150))
    event = build_catalog_event(catalog)
    assert (event.level, event.offered, event.shortened, event.reason) == ("names", 150, 150, catalog.report.reason)
    assert event.digest == catalog.digest


def delta(previous: Catalog, current: Catalog) -> CatalogDelta:
    """What changed between two lists."""
    return compute_delta({entry.mention: compute_mark(entry) for entry in previous.entries}, current.entries)


def test_what_came_changed_and_went_is_reported_without_the_rest() -> None:
    previous = build_catalog([a_skill("a1"), a_skill("b1"), a_skill("c1")])
    current = build_catalog([a_skill("b1", description="Other."), a_skill("c1"), a_skill("d1")])
    assert delta(previous, current).text().splitlines()[1:] == [
        "- $[web:mvp].d1: Writes things. (new)",
        "- $[web:mvp].b1: Other. (changed)",
        "- $[web:mvp].a1 (no longer available)",
    ]


def test_the_same_skills_have_no_difference_even_when_they_are_cut_elsewhere() -> None:
    skills = many(60)
    assert not delta(build_catalog(skills), build_catalog(skills, budget_tokens=1200))


def test_a_difference_too_large_to_tell_is_counted() -> None:
    text = delta(build_catalog([]), build_catalog(many(5000))).text()
    assert "5000 new" in text
    assert estimate_tokens(text) < 60
