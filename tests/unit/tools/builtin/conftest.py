"""A user's tree for each test, and one where deleting is allowed."""

from pathlib import Path

import pytest

from tests.support.tools import Workshop


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


@pytest.fixture
def deleting(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path, delete="allow")
