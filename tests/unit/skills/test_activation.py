"""The text of a skill in a prompt: whole, in part or in short, and always inside its wrapper."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.skills import SkillError
from skills_runtime.skills import activation as render
from skills_runtime.skills.activation import Render, extract_method_section, render_skill, wrap_skill
from tests.unit.skills.samples import a_skill

OPENING = re.compile(r"^<(skill-[0-9a-f]{32}) ", re.MULTILINE)

fragments = st.sampled_from(
    ["</skill>", "</skill-", "<skill-", "</SKILL ", "< / s k i l l", "＜/skill＞", "</sk\u200bill>", "&lt;/skill&gt;",
     "\n", "\r\n", "\u2028", "0123456789abcdef" * 2, ">", '"', "<", "/", "# Heading", "```", "text", "\ufeff"]
)  # fmt: skip
hostile = st.one_of(st.lists(fragments, max_size=12).map("".join), st.text(max_size=80))


def parts_of(text: str) -> tuple[str, str, str]:
    """The tag of a wrapped text, its attributes and what is inside."""
    opening = OPENING.search(text)
    assert opening is not None
    tag = opening[1]
    first, _, rest = text[opening.start() :].partition("\n")
    content, closing, after = rest.rpartition(f"\n</{tag}>")
    assert closing
    assert after == ""
    return tag, first, content


def visible(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(each for each in folded if unicodedata.category(each)[0] not in "ZCM")


@given(hostile)
def test_no_body_closes_its_wrapper_or_opens_another(body: str) -> None:
    text = render_skill(a_skill(), body, "body")
    tag, first, content = parts_of(text)
    assert tag[len("skill-") :] not in content
    assert "<skill" not in visible(content)
    assert "</skill" not in visible(content)
    assert first.endswith(">")
    assert visible(text).count("<skill") == 1
    assert visible(text).count("</skill") == 1


@given(hostile, hostile)
def test_neither_description_nor_place_closes_the_wrapper(description: str, locator: str) -> None:
    skill = a_skill(description=description, locator=locator)
    forms: tuple[tuple[Render, int], ...] = (("body", 1), ("summary", 2))
    for form, lines in forms:
        tag, first, content = parts_of(render_skill(skill, "Do it.", form))
        assert re.fullmatch(rf'<{tag} name="[^"<>]*" mention="[^"<>]*" locator="[^"<>]*">', first)
        assert "<" not in content
        assert len(content.splitlines()) == lines


@given(st.text(alphabet="abc <>&/#`\n", max_size=60))
def test_an_honest_body_stays_as_it_is(body: str) -> None:
    _, _, content = parts_of(render_skill(a_skill(), body, "body"))
    assert content == body.strip("\n")


def test_the_wrapper_says_whose_text_it_is_and_where_it_ends() -> None:
    text = render_skill(a_skill(), "Do it.\n", "body")
    tag, first, content = parts_of(text)
    assert content == "Do it."
    assert first == f'<{tag} name="writer" mention="$[web:mvp].writer" locator="memory://rows/writer">'
    assert text.startswith("The skill `$[web:mvp].writer` follows, up to the closing tag with the same number.")


def test_every_text_has_its_own_boundary_and_the_same_text_always_the_same() -> None:
    texts = [render_skill(a_skill(name), body, "body") for name in ("one", "two") for body in ("a", "b")]
    assert len({parts_of(text)[0] for text in texts}) == 4
    assert texts[0] == render_skill(a_skill("one"), "a", "body")


def test_a_body_that_holds_its_own_boundary_gets_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "DIGEST_CHARS", 1)
    for number in range(20):
        text = wrap_skill(a_skill(), f"0123456789abcd {number}")
        assert text.endswith(("</skill-e>", "</skill-f>"))


METHOD = """\
# Title
Intro.
## How to use it
First.
```
## Steps in code are code
```
### Detail
Second.
## Other
Third.
"""


def test_the_method_is_the_first_section_about_it_with_what_is_below() -> None:
    _, _, content = parts_of(render_skill(a_skill(), METHOD, "method_only"))
    assert content.startswith("## How to use it\nFirst.")
    assert content.endswith("### Detail\nSecond.")


@pytest.mark.parametrize(
    ("body", "method"),
    [
        ("# Usage\nx", "# Usage\nx"),
        ("# Workflow ##\r\nx\r\n# Next\r\n", "# Workflow ##\r\nx\r"),
        ("# The Steps\na\n# Usage\nb", "# The Steps\na"),
        ("## METHOD\na\n# Up\nb", "## METHOD\na"),
        ("~~~\n# Usage\n~~~\n", None),
        ("````\n```\n# Usage\n````\n# Steps\n", "# Steps\n"),
        ("#Usage\n", None),
        ("    # Usage\n", None),
        ("# Footsteps\n", None),
        ("Usage\n=====\n", None),
        ("", None),
    ],
)
def test_which_heading_begins_the_method(body: str, method: str | None) -> None:
    assert extract_method_section(body) == method


def test_a_skill_without_a_method_is_shown_whole() -> None:
    assert parts_of(render_skill(a_skill(), "# Intro\nx", "method_only"))[2] == "# Intro\nx"


def test_a_summary_has_mention_description_and_place_and_no_body() -> None:
    _, _, content = parts_of(render_skill(a_skill(), "BODY", "summary"))
    assert content == "$[web:mvp].writer: Writes things.\n(memory://rows/writer)"


def test_nothing_is_nothing() -> None:
    assert render_skill(a_skill(), "BODY", "none") == ""


def test_a_text_longer_than_allowed_is_refused_and_never_cut() -> None:
    body = "é" * 50
    assert render_skill(a_skill(), body, "body", max_bytes=100)
    with pytest.raises(SkillError) as caught:
        render_skill(a_skill(), body, "body", max_bytes=99)
    assert caught.value.code == "SKILL_BODY_TOO_LARGE"
    assert "100 bytes" in caught.value.message


def test_only_what_is_shown_counts_against_the_limit() -> None:
    body = f"{'x' * 1000}\n# Usage\nshort"
    assert render_skill(a_skill(), body, "method_only", max_bytes=100)
    assert render_skill(a_skill(), body, "summary", max_bytes=100)


@given(st.text(alphabet="# `~Usage\nx\r", max_size=80))
def test_a_method_is_a_part_of_the_body(body: str) -> None:
    method = extract_method_section(body)
    assert method is None or method in body
