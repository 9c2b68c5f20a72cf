"""The committed reference pages match the code."""

from pathlib import Path

import pytest

from scripts.reference import PAGES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", sorted(PAGES))
def test_reference_page_matches_the_code(name: str) -> None:
    written = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")

    assert written == PAGES[name](), "run `make docs`"


def test_every_setting_has_a_description() -> None:
    rows = [line for line in PAGES["configuration.md"]().splitlines() if line.startswith("| `")]

    assert [row for row in rows if row.rstrip(" |").endswith("`")] == []
