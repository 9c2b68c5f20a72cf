"""A run that has ended, for tests that look at what it left behind."""

import shutil
from pathlib import Path

import pytest

from skills_runtime.runs import KeyRing, RunPaths
from tests.support.runs import finished_run, keys_in


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a run has ended well, beside its key."""
    path = tmp_path_factory.mktemp("original")
    finished_run(path)
    return path


@pytest.fixture
def paths(original: Path, tmp_path: Path) -> RunPaths:
    """A copy of that run, of the test's own."""
    shutil.copytree(original, tmp_path, dirs_exist_ok=True)
    return RunPaths(tmp_path / "runs" / "run_test")


@pytest.fixture
def keys(tmp_path: Path) -> KeyRing:
    """The keys of this machine."""
    return keys_in(tmp_path)


@pytest.fixture
def no_keys(tmp_path: Path) -> KeyRing:
    """The keys of a machine that has not seen the run."""
    return KeyRing(tmp_path / "no" / "keys")
