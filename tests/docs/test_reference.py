"""The reference pages are what the code says."""

from pathlib import Path

import pytest

from scripts.reference import PAGES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_reference_page_is_what_the_code_gives(name: str) -> None:
    written = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")

    assert written == PAGES[name](), "run `make docs`"


def test_every_setting_says_what_it_means() -> None:
    rows = [line for line in PAGES["configuration.md"]().splitlines() if line.startswith("| `")]

    assert [row for row in rows if row.rstrip(" |").endswith("`")] == []
