"""Searching runs by any text at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.errors import ValidationFailed
from skills_runtime.ledger import RunIndex
from skills_runtime.ledger.rows import TEXT_LENGTH
from tests.unit.ledger.samples import open_at, sample

HOSTILE = [
    '"', '""', '"""', "'", "*", "a*", "NEAR", "NEAR(", "NEAR(a b, 2)", "AND", "OR NOT", "title:", "title : x", "^abc",
    "-abc", "+abc", "{title text}: abc", "(", ")))", "\x00", "ab\x00cd", "\ud800abc", "%", "_", "%%%", "\\", "\\%",
    "run_text", "'; DROP TABLE runs; --", "a" * 1000, "🦜🦜🦜", "\u200b\u200b\u200b", ":match", "?1", "[abc]",
]  # fmt: skip


def _found(index: RunIndex, text: str) -> set[str]:
    return {row.run_id for row in index.search(text)}


@pytest.fixture
def filled(index: RunIndex) -> RunIndex:
    index.record(sample("chinese", title="修复登录页面的错误"), text="用户无法登录，请检查会话")
    index.record(sample("english", title="Fix the login"), text="The prompt says Hello World, final output: done")
    index.record(sample("failed", title="Deploy", failure_reason="disk full on node-7"), text="100%_sure \\ yes")
    return index


@pytest.mark.parametrize(
    ("text", "run_ids"),
    [
        ("login", {"english"}),
        ("LOGIN", {"english"}),
        ("ogi", {"english"}),
        ("hello world", {"english"}),
        ("world hello", {"english"}),
        ("hello mars", set[str]()),
        ("登录页", {"chinese"}),
        ("无法登录，请", {"chinese"}),
        ("登录", {"chinese"}),
        ("登", {"chinese"}),
        ("登录 会话 用户无", {"chinese"}),
        ("disk full", {"failed"}),
        ("node-7", {"failed"}),
        ("do", {"english"}),
        ("on do", {"english"}),
        ("on deploy", {"failed"}),
        ("zz", set[str]()),
        ("", {"chinese", "english", "failed"}),
        (" \t\n", {"chinese", "english", "failed"}),
    ],
)
def test_every_word_must_occur_somewhere(filled: RunIndex, text: str, run_ids: set[str]) -> None:
    assert _found(filled, text) == run_ids


@pytest.mark.parametrize(
    ("text", "run_ids"),
    [("0%", {"failed"}), ("%_", {"failed"}), ("_", {"failed"}), ("\\", {"failed"}), ("%0", set[str]())],
)
def test_wildcards_are_ordinary_characters(filled: RunIndex, text: str, run_ids: set[str]) -> None:
    assert _found(filled, text) == run_ids


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_finds_exactly_the_run_that_holds_it(filled: RunIndex, text: str) -> None:
    filled.record(sample("hostile", title="x"), text=f"before {text} after")
    assert "hostile" in _found(filled, text)


@pytest.mark.parametrize(
    "text", ["NEAR(a b, 2)", "OR NOT", "title:", "{title text}: abc", "'; DROP TABLE runs; --", "abc*"]
)
def test_operators_of_the_query_language_mean_nothing(filled: RunIndex, text: str) -> None:
    assert _found(filled, text) == set()


def test_a_search_text_without_measure_is_refused(filled: RunIndex) -> None:
    with pytest.raises(ValidationFailed, match="1001 characters"):
        filled.search("a" * 1001)


def test_hundreds_of_words_are_still_one_search(filled: RunIndex) -> None:
    filled.record(sample("wordy"), text=" ".join(f"{number:03}" for number in range(250)))
    assert _found(filled, " ".join(f"{number:03}" for number in range(250))) == {"wordy"}


def test_results_are_newest_first_and_limited(index: RunIndex) -> None:
    for day in (2, 3, 1):
        index.record(sample(f"day{day}", created_at=f"2025-01-0{day}"), text="same words")
    assert [row.run_id for row in index.search("same", 2)] == ["day3", "day2"]


def test_the_text_is_kept_when_only_the_row_is_recorded_again(index: RunIndex) -> None:
    index.record(sample(last_seq=1), text="original words")
    index.record(sample(last_seq=2, failure_reason="exploded"))
    assert _found(index, "original exploded") == {"run_1"}


def test_a_new_text_replaces_the_old_one(index: RunIndex) -> None:
    index.record(sample(last_seq=1), text="first version")
    index.record(sample(last_seq=2), text="second version")
    assert _found(index, "first") == set()
    assert _found(index, "second") == {"run_1"}


def test_a_huge_text_is_searched_up_to_its_limit(index: RunIndex) -> None:
    index.record(sample(), text="beginning " + "x" * TEXT_LENGTH + " ending")
    assert _found(index, "beginning") == {"run_1"}
    assert _found(index, "ending") == set()


@given(st.lists(st.text(max_size=40), max_size=4))
def test_any_text_is_found_by_itself_and_breaks_nothing(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    with open_at(tmp_path_factory.mktemp("search") / "state") as ledger:
        for number, text in enumerate(texts):
            ledger.index.record(sample(f"r{number}", failure_reason=text), text=text)
        for number, text in enumerate(texts):
            assert f"r{number}" in _found(ledger.index, text)
