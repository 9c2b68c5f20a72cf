"""What counts as a mention where people write as they do."""

import pytest

from skills_runtime.skills.mentions import resolve_mentions
from tests.unit.skills.samples import library_of, row

LIBRARY = library_of(row("writer"), row("two-words"))


def find_names(text: str) -> list[str]:
    return [skill.name for skill in resolve_mentions(text, LIBRARY).skills]


@pytest.mark.parametrize(
    "text",
    [
        "use $writer.", "use $writer, please", "($writer)", '"$writer"', "**$writer**", "$writer's way", "$writer!",
        "$writer: do it", "用$writer写", "für $writer，und", "$writer\n", "\t$writer", "> $writer", "- $writer",
        "/writer", "/writer about bees", "  /writer\nabout bees", "$web:mvp:writer", "[$writer](memory://rows/writer)",
    ],
)  # fmt: skip
def test_a_name_in_ordinary_prose_is_a_mention(text: str) -> None:
    assert find_names(text) == ["writer"]


@pytest.mark.parametrize(
    "text",
    [
        "${writer}", "$writer/x", "$writer.txt", "$writer=1", "\\$writer", "`$writer`", "```\n$writer\n```", "a$writer",
        "$writer_x", "$writers", "$Writer", "$writer[0]", "$writer(1)", "$$writer", "please /writer x", "x\n/writer y",
        "/writer,x", "/writer/x", "//writer", "![$writer](x.png)", "costs 5$writer", "$-writer", "/Writer x",
    ],
)  # fmt: skip
def test_code_paths_and_prices_are_text(text: str) -> None:
    assert find_names(text) == []


def test_one_name_in_many_forms_is_one_skill() -> None:
    assert find_names("/writer $writer and $[web:mvp].writer and `$writer` or $two-words") == ["writer", "two-words"]


def test_what_stands_behind_a_slash_is_kept_to_the_letter() -> None:
    (arguments,) = resolve_mentions('/writer  about "two  words"\nand $HOME `x` ', LIBRARY).arguments.values()
    assert arguments == 'about "two  words"\nand $HOME `x`'
