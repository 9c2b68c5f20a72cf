"""Terms: forms of one word are one term, whatever way they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.skills.routing.ranking import split_clauses
from skills_runtime.skills.routing.terms import extract_terms, translate_terms


@pytest.mark.parametrize(
    "forms",
    [
        "optimize optimizes optimized optimizing optimization optimiser",
        "deploy deploys deployed deploying deployment",
        "test tests tested testing tester",
        "query queries querying",
        "tutorial tutorials",
        "run running runs",
        "js javascript JavaScript",
        "k8s kubernetes Kubernetes",
        "colour colours color colors",
        "résumé resume resumes",
        "analyse analyzing analysis analytics",
    ],
)
def test_forms_of_a_word_are_one_term(forms: str) -> None:
    assert len(set(extract_terms(forms))) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pull requests", ["pr"]),
        ("C# and C++", ["csharp", "cpp"]),
        ("web-app_fooBar", ["web", "applic", "foobar", "foo", "bar"]),
        ("please help me with the", []),
        ("翻译表格", ["翻译", "译表", "表格"]),
        ("", []),
    ],
)
def test_text_becomes_terms(text: str, expected: list[str]) -> None:
    assert extract_terms(text) == expected


def test_compounds_are_known_whole_and_in_parts() -> None:
    assert set(extract_terms("OpenAI")) >= set(extract_terms("openai"))


def test_chinese_words_are_known_in_english_in_both_scripts() -> None:
    assert translate_terms("幫我翻譯這個") == translate_terms("帮我翻译这个") == extract_terms("translate")


@given(st.text(max_size=200))
def test_any_text_gives_terms_and_always_the_same(text: str) -> None:
    assert extract_terms(text) == extract_terms(text)
    assert all(extract_terms(text))


@pytest.mark.parametrize(
    ("description", "excluded"),
    [
        ("Makes slides. Not for Word documents.", "Word documents"),
        ("Makes slides. Do NOT use for spreadsheets; use it for decks.", "spreadsheets"),
        ("Improves pages. For signup forms, see signup-flow.", "signup forms"),
        ("制作幻灯片。不适用于表格。", "表格"),
    ],
)
def test_what_a_skill_is_not_for_is_distinguished(description: str, excluded: str) -> None:
    clauses = split_clauses(description)
    assert excluded in clauses.excluded
    assert excluded not in clauses.included


def test_a_description_that_rules_nothing_out_stays_whole() -> None:
    text = "Makes slides. Use when somebody asks for a deck."
    assert split_clauses(text).included == text
