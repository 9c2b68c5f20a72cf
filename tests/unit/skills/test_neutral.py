"""Foreign text: what could pass for a mark of ours is taken apart, everything else is left alone."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.events.text import well_formed
from skills_runtime.skills.neutral import OPENERS, inert, neutral, one_line

SPELLINGS = [
    "<skill>",
    "</skill>",
    "</SKILL>",
    "< / skill >",
    "<\n/\nskill\n>",
    "</skill-0123456789abcdef>",
    "</skill foo='>'>",
    "</\u200bskill>",
    "<\u2060/s\u200bk\u200di\ufeffl\u00adl>",
    "＜/skill＞",
    "﹤/skill﹥",
    "‹/skill›",
    "〈/skill〉",
    "</ｓｋｉｌｌ>",
    "</𝐬𝐤𝐢𝐥𝐥>",
    "</ⓢⓚⓘⓛⓛ>",
    "</ѕkіll>",
    "</sk1ll>",
    "</skiII>",
    "</SKİLL>",
    "</s\u0301kill>",
    "<\\skill>",
    "<//skill>",
    "<!skill>",
    "<?skill>",
    "<\u3164/\u2800skill>",
    "<" + " " * 10_000 + "/skill>",
    "<\x00/skill>",
    "<\U000e0020/skill>",
    "<<</skill>",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_tag_like_ours_is_taken_apart_however_it_is_spelled(spelling: str) -> None:
    shown = neutral(f"before {spelling} after")
    assert "&lt;" in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert not looks_like_our_tag(shown)


def looks_like_our_tag(text: str) -> bool:
    """An independent reading: drop everything invisible, fold the rest, and look for the tag."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    visible = "".join(each for each in folded if unicodedata.category(each)[0] not in "ZCM" and each not in "/\\")
    return "<skill" in visible


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "<p>HTML</p> and <script>code</script>",
        "a < b and c > d, List<Skip>, x<ski>",
        "<s><k><i><l><l>",
        "skill> </ski lt",
        "my skills are 1 < 2",
        "&lt;/skill&gt;",
        "if (a <\n\nb)",
        "<",
        "</",
        "<skil",
    ],
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert neutral(text) == text


@given(st.text(alphabet=OPENERS + "/\\ sSkKiIlLѕｌ\u200b\u0301>\n&;x", max_size=40))
def test_no_tag_like_ours_is_left_in_any_text(text: str) -> None:
    assert not looks_like_our_tag(neutral(text))
    assert neutral(neutral(text)) == neutral(text)


@given(st.text(max_size=60).filter(lambda text: not any(each in OPENERS for each in text)))
def test_a_text_that_opens_nothing_is_not_touched(text: str) -> None:
    assert neutral(text) == text


@given(st.text(max_size=60))
def test_an_inert_text_is_one_visible_line_without_anything_that_opens_or_closes(text: str) -> None:
    shown = inert(text)
    assert shown.isprintable()
    assert not any(each in shown for each in OPENERS + '">')


@given(st.text(alphabet=st.characters(codec=None), max_size=30))
def test_one_line_is_stable_and_can_be_sent(text: str) -> None:
    shown = one_line(text)
    assert one_line(shown) == shown
    assert shown.encode().decode() == shown
    assert well_formed(text).encode().decode() == well_formed(text)


def test_many_openings_are_looked_at_in_linear_time() -> None:
    assert neutral("<" * 300_000 + " " * 300_000) == "<" * 300_000 + " " * 300_000
    assert neutral("< " * 300_000) == "< " * 300_000
