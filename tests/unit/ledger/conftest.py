"""An open ledger for every test that asks for one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from skills_runtime.ledger import Ledger, RunIndex
from tests.unit.ledger.samples import open_at


@pytest.fixture
def state_home(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def ledger(state_home: Path) -> Iterator[Ledger]:
    with open_at(state_home) as ledger:
        yield ledger


@pytest.fixture
def index(ledger: Ledger) -> RunIndex:
    return ledger.index
