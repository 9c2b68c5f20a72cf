"""A workspace to stand in."""

from pathlib import Path

import pytest


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, which is the current one."""
    place = tmp_path / "workspace"
    place.mkdir()
    monkeypatch.chdir(place)
    return place
