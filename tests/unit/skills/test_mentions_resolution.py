"""From what somebody wrote to skills, arguments and notices."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.skills import Library, MemorySource, Mention, Origin, SkillError
from skills_runtime.skills.mentions import MAX_NOTICES, ResolvedMentions, resolve_mentions
from tests.unit.skills.samples import library_at, library_of, make_skill, row, skill_text

TWO_SPACES = Library(
    [
        MemorySource(Origin("one", "web", "a"), [row("writer"), row("editor")]),
        MemorySource(Origin("two", "shop", "b"), [row("writer"), row("pay-out")]),
    ]
)


def skill_names(mentions: ResolvedMentions) -> list[str]:
    return [skill.name for skill in mentions.skills]


def notice_text(mentions: ResolvedMentions) -> str:
    return "\n".join(f"{notice.message} ({notice.hint})" for notice in mentions.notices)


def test_every_form_finds_its_skill_once_and_in_order() -> None:
    library = library_of(row("writer"), row("editor"), row("deploy"))
    mentions = resolve_mentions("/deploy with $editor, $[web:mvp].writer and $editor again", library)
    assert skill_names(mentions) == ["deploy", "editor", "writer"]
    assert mentions.arguments == {Mention("web:mvp", "deploy"): "with $editor, $[web:mvp].writer and $editor again"}
    assert mentions.notices == ()


def test_text_without_mentions_asks_for_nothing() -> None:
    text = "Pay $20 from $HOME/bin, see `$writer`, set $name and run /usr/bin/env; $PATH:$x."
    assert resolve_mentions(text, library_of(row("writer"))) == ResolvedMentions()


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("use $relase-notes", "release-notes"),
        ("use $writr here", "writer"),
        ("use $wrtier here", "writer"),
        ("/writter a story", "writer"),
        ("[$releasenotes](x)", "release-notes"),
    ],
)
def test_a_typo_is_reported_with_a_suggestion(text: str, suggestion: str) -> None:
    mentions = resolve_mentions(text, library_of(row("writer"), row("release-notes")))
    assert mentions.skills == ()
    (notice,) = mentions.notices
    assert (notice.code, notice.severity) == ("SKILL_UNKNOWN", "notice")
    assert suggestion in notice.hint


@pytest.mark.parametrize("text", ["use $release-notes", "/release notes", "[$notes](skills/notes)"])
def test_a_mention_that_names_nothing_is_never_dropped_in_silence(text: str) -> None:
    mentions = resolve_mentions(text, library_of())
    assert [notice.code for notice in mentions.notices] == ["SKILL_UNKNOWN"]
    assert text.split(maxsplit=1)[-1 if text.startswith("use") else 0][:5] in mentions.notices[0].message


@pytest.mark.parametrize("text", ["/tmp is full", "/etc", "set $path and $i", "$foo is a variable", "$20k", "$3d-x"])
def test_text_that_is_hardly_a_mention_is_not_reported(text: str) -> None:
    assert resolve_mentions(text, library_of(row("writer"))) == ResolvedMentions()


def test_a_directory_s_name_is_a_skill_when_there_is_one() -> None:
    assert skill_names(resolve_mentions("/run the tests", library_of(row("run")))) == ["run"]


def test_a_name_that_two_skills_have_is_refused_with_the_qualified_names() -> None:
    mentions = resolve_mentions("use $writer and $editor", TWO_SPACES)
    assert skill_names(mentions) == ["editor"]
    assert "shop" in notice_text(mentions)
    assert "web" in notice_text(mentions)


def test_a_qualified_name_says_which() -> None:
    mentions = resolve_mentions("use $shop:writer", TWO_SPACES)
    assert [skill.namespace for skill in mentions.skills] == ["shop"]


def test_a_broken_skill_is_reported_by_name(tmp_path: Path) -> None:
    make_skill(tmp_path, "writer", text="---\nname: writer\n---\n")
    make_skill(tmp_path, "editor")
    mentions = resolve_mentions("use $writer and $editor", library_at(tmp_path))
    assert skill_names(mentions) == ["editor"]
    assert "description" in notice_text(mentions)


def test_an_exact_mention_that_names_nothing_is_still_an_error() -> None:
    with pytest.raises(SkillError) as caught:
        resolve_mentions("use $[web:mvp].gone", library_of(row("writer")))
    assert caught.value.code == "SKILL_UNKNOWN"


def test_a_link_means_the_skill_at_its_path(tmp_path: Path) -> None:
    for directory in ("one", "two"):
        make_skill(tmp_path / directory, "writer", text=skill_text("writer"))
    library = Library([*library_at(tmp_path / "one")._sources])  # pyright: ignore[reportPrivateUsage]
    for path in ("one/writer/SKILL.md", "./one/writer", str(tmp_path / "one/writer/SKILL.md"), "../writer"):
        assert skill_names(resolve_mentions(f"[$writer]({path})", library)) == ["writer"], path
    elsewhere = resolve_mentions("[$writer](two/writer/SKILL.md)", library)
    assert elsewhere.skills == ()
    assert "one/writer" in notice_text(elsewhere)


def test_a_link_may_lead_to_what_is_no_file() -> None:
    assert skill_names(resolve_mentions("[$writer](memory://rows/writer)", library_of(row("writer")))) == ["writer"]


def test_a_notice_shows_hostile_text_harmlessly() -> None:
    mentions = resolve_mentions("[$writer](\x1b[31m\u202e)", library_of())
    assert "\x1b" not in notice_text(mentions)
    assert "\u202e" not in notice_text(mentions)


def test_a_page_of_typos_makes_a_bounded_number_of_notices() -> None:
    text = " ".join(f"$no-skill-{number}" for number in range(1000))
    mentions = resolve_mentions(text, library_of(row("writer")))
    assert len(mentions.notices) == MAX_NOTICES + 1
    assert str(1000 - MAX_NOTICES) in mentions.notices[-1].message


@given(st.text(alphabet="$[]():/`\\abwriter-_. \n", max_size=60))
def test_free_text_never_fails_but_for_an_exact_mention(text: str) -> None:
    try:
        mentions = resolve_mentions(text, library_of(row("writer"), row("ab")))
    except SkillError:
        assert "$[" in text
        return
    assert set(skill_names(mentions)) <= {"writer", "ab"}
