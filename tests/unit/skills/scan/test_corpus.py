"""How much of what harms is found, and how seldom what does not harm is taken for it."""

from pathlib import Path

import pytest

from skills_runtime.skills.scan import scan_directory
from tests.unit.skills.scan.corpus import Half, Sample, samples

LEAST_FOUND = {"tuned": 0.95, "held_out": 0.85}
MOST_FALSE = {"tuned": 0.02, "held_out": 0.05}


def _not_clean(chosen: list[Sample], directory: Path) -> list[str]:
    return [each.name for each in chosen if scan_directory(each.write(directory)).verdict != "clean"]


def test_there_are_more_than_a_hundred_and_twenty_samples_of_each_kind_under_names_of_their_own() -> None:
    harmful, clean = samples("harmful"), samples("clean")

    assert len(harmful) >= 120
    assert len(clean) >= 120
    assert len({each.name for each in (*harmful, *clean)}) == len(harmful) + len(clean)


@pytest.mark.parametrize("half", ["tuned", "held_out"])
def test_most_harmful_skills_are_found(half: Half, tmp_path: Path) -> None:
    chosen = [each for each in samples("harmful") if each.half == half]

    found = _not_clean(chosen, tmp_path)

    missed = sorted({each.name for each in chosen} - set(found))
    assert len(found) / len(chosen) >= LEAST_FOUND[half], missed


@pytest.mark.parametrize("half", ["tuned", "held_out"])
def test_hardly_any_clean_skill_is_accused(half: Half, tmp_path: Path) -> None:
    chosen = [each for each in samples("clean") if each.half == half]

    accused = _not_clean(chosen, tmp_path)

    assert len(accused) / len(chosen) <= MOST_FALSE[half], accused


@pytest.mark.parametrize("half", ["tuned", "held_out"])
def test_no_clean_skill_is_called_malicious(half: Half, tmp_path: Path) -> None:
    chosen = [each for each in samples("clean") if each.half == half]

    assert [each.name for each in chosen if scan_directory(each.write(tmp_path)).verdict == "malicious"] == []
