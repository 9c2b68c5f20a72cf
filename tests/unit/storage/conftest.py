"""Both ways of opening beneath a directory, and something outside it worth protecting."""

from collections.abc import Callable
from pathlib import Path

import pytest

from skills_runtime.storage.beneath import Opener, open_by_kernel, open_by_walk


@pytest.fixture(params=[open_by_kernel, open_by_walk], ids=["kernel", "walking"])
def opener(request: pytest.FixtureRequest) -> Opener:
    return request.param


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory that nothing may touch, holding `x` with `outside secret`."""
    path = tmp_path / "outside"
    path.mkdir()
    (path / "x").write_text("outside secret")
    return path


@pytest.fixture
def descriptors() -> Callable[[], int]:
    """Counts the open files of this process."""
    return lambda: len(list(Path("/proc/self/fd").iterdir()))
