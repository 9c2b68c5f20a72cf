"""A directory that lies outside of every fence: every command has temporary directories of its own."""

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.support import ROOT

TEMPORARY = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))


@contextmanager
def outside() -> Generator[Path]:
    """A new directory where commands do not have one of their own; gone afterwards."""
    above = Path(tempfile.mkdtemp(prefix="outside-", dir=_parent())).resolve()
    try:
        base = above / "place"
        base.mkdir()
        yield base
    finally:
        shutil.rmtree(above)


def _parent() -> Path:
    """The checkout, unless it lies in a temporary directory itself."""
    cache = ROOT / ".pytest_cache"
    cache.mkdir(exist_ok=True)
    candidates = (cache, Path.home(), Path("/"))
    fit = [one.resolve() for one in candidates if os.access(one, os.W_OK | os.X_OK)]
    for place in fit:
        if not any(place.is_relative_to(temporary) for temporary in TEMPORARY):
            return place
    raise AssertionError("these tests need a directory that is not temporary: run them from a checkout elsewhere")
