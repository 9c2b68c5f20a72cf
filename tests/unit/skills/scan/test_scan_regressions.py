"""What the scan once missed is found in more than one wording, and what only comes close to it is clean."""

from pathlib import Path

import pytest

from skills_runtime.skills.scan import scan_directory
from tests.unit.skills.scan.corpus import Sample, samples

MISSED = samples("harmful-missed")
CLOSE = samples("clean-close")


def test_there_are_two_wordings_of_each() -> None:
    assert (len(MISSED), len(CLOSE)) == (18, 11)


@pytest.mark.parametrize("sample", MISSED, ids=[each.name for each in MISSED])
def test_it_is_found(sample: Sample, tmp_path: Path) -> None:
    assert scan_directory(sample.write(tmp_path)).verdict != "clean"


@pytest.mark.parametrize("sample", CLOSE, ids=[each.name for each in CLOSE])
def test_what_comes_close_is_clean(sample: Sample, tmp_path: Path) -> None:
    assert scan_directory(sample.write(tmp_path)).verdict == "clean"
