"""Mentions: every legal one in free text, exactly one in an argument."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.skills import Mention, SkillError, mentions_in, parse_mention
from skills_runtime.skills.skill import is_name, is_namespace

segments = st.from_regex(r"[a-z0-9][a-z0-9-]{0,62}[a-z0-9]", fullmatch=True)
namespaces = st.lists(segments, min_size=1, max_size=7).map(":".join)
names = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,62}[a-z0-9]", fullmatch=True)
mentions = st.builds(Mention, namespaces, names)
glue = st.text(alphabet=" ,.;:!?()\n写に。*\"'$[{", min_size=1, max_size=5).filter(lambda text: text[0] not in "]_-")


@given(mentions)
def test_what_is_written_is_read_again(mention: Mention) -> None:
    assert parse_mention(mention.text) == mention
    assert mentions_in(mention.text) == [mention]


@given(st.lists(st.tuples(mentions, glue), max_size=5))
def test_every_mention_in_a_text_is_found_once_and_in_order(parts: list[tuple[Mention, str]]) -> None:
    text = "".join(f"{between}{mention.text}{between}" for mention, between in parts)
    assert mentions_in(text) == list(dict.fromkeys(mention for mention, _ in parts))


@given(st.text(alphabet="$[]:.-_aZ09 \n写", max_size=60))
def test_whatever_is_found_is_a_legal_mention_that_stands_in_the_text(text: str) -> None:
    for mention in mentions_in(text):
        assert mention.text in text
        assert is_namespace(mention.namespace)
        assert is_name(mention.name)
        assert parse_mention(mention.text) == mention


@given(mentions, st.text(min_size=1, max_size=5))
def test_an_argument_with_anything_around_the_mention_is_refused(mention: Mention, more: str) -> None:
    for text in (more + mention.text, f"{mention.text} {more}", mention.text * 2, mention.text + "\n"):
        with pytest.raises(SkillError) as caught:
            parse_mention(text)
        assert caught.value.code == "SKILL_MENTION_FORMAT_INVALID"
        assert caught.value.kind == "validation"


@pytest.mark.parametrize(
    "text",
    [
        "$[web:mvp].x",
        "$[w].writer",
        "$[web].-writer",
        "$[].writer",
        "$[web:].writer",
        "$[:web].writer",
        "$[web::mvp].writer",
        "$[Web].writer",
        "$[web_mvp].writer",
        "$[web].Writer",
        "$[web].writerX",
        "$[web]. writer",
        "$[web] .writer",
        "$ [web].writer",
        "[web].writer",
        "$[web]writer",
        "$[web].writer]",
        "$[web].writer_]",
        "$[web].writer__X",
        f"$[{':'.join(['web'] * 8)}].writer",
        f"$[{'a' * 65}].writer",
        f"$[web].{'a' * 65}",
    ],
)
def test_what_only_looks_like_a_mention_is_text(text: str) -> None:
    assert mentions_in(f"use {text} please") == []


@pytest.mark.parametrize("after", ["", ".", ", please", "写文章", "。", "_", "-", "*", ")", "\n", "'s"])
def test_a_mention_ends_where_its_name_ends(after: str) -> None:
    assert mentions_in(f"*$[web:mvp].writer{after}") == [Mention("web:mvp", "writer")]


def test_a_name_keeps_its_inner_hyphens_and_underscores() -> None:
    assert mentions_in("$[web].a_b-c9 $[web].article-writer.md") == [
        Mention("web", "a_b-c9"),
        Mention("web", "article-writer"),
    ]


def test_a_wrong_argument_is_shown_short_and_escaped() -> None:
    with pytest.raises(SkillError) as caught:
        parse_mention("\x1b[31m" + "x" * 10_000)
    assert "\x1b" not in caught.value.message
    assert len(caught.value.message) < 200


def test_a_megabyte_of_beginnings_is_read_at_once() -> None:
    assert mentions_in("$[" * 500_000) == []
    assert mentions_in("$[" + "a" * 1_000_000) == []
