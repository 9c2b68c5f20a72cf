"""A disk of a few pages, in a mount namespace of its own: no other process sees it and nothing is left of it."""

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.support.zygote import Zygote, zygote

PAGE = 4096


@contextmanager
def nursery_for_small_disks(*modules: str) -> Generator[Zygote]:
    """Forks children that may mount; fails, and says why, where that is not allowed."""
    within = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--map-root-user", "--mount")
    tried = subprocess.run([*within, "true"], capture_output=True, text=True, check=False)
    assert tried.returncode == 0, f"the disk-full tests need mount namespaces (`{' '.join(within)}`): {tried.stderr}"
    with zygote(*modules, within=within) as nursery:
        yield nursery


class SmallDisk:
    """A mounted tmpfs, and a file on it that takes up room."""

    def __init__(self, path: Path, pages: int) -> None:
        self.path = path
        self._ballast = path / "ballast"
        path.mkdir(parents=True, exist_ok=True)
        size = f"size={pages * PAGE}"
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(path)], check=True)

    @property
    def free_pages(self) -> int:
        """How much can still be written."""
        return os.statvfs(self.path).f_bavail * os.statvfs(self.path).f_frsize // PAGE

    def leave(self, pages: int) -> None:
        """Take up room until only this much is left, or give some back."""
        self._ballast.unlink(missing_ok=True)
        self._ballast.write_bytes(b"x" * PAGE * (self.free_pages - pages))
        assert self.free_pages == pages

    def files(self) -> set[str]:
        """Everything on the disk but the ballast."""
        return {str(path.relative_to(self.path)) for path in self.path.rglob("*") if path != self._ballast}
