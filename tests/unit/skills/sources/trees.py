"""Trees of skills that are searched with an index."""

import time
from pathlib import Path
from typing import Any

from skills_runtime.skills import FilesystemSource, Origin, Report, ScanOptions
from skills_runtime.skills.sources import IndexedSource

HOUR_NS = 3_600_000_000_000
ORIGIN = Origin("space", "web", "files")


def indexed(base: Path, *, ahead_ns: int = HOUR_NS, **options: Any) -> IndexedSource:
    """A source over `skills` whose index is in `index`; its clock is ahead, so that everything has settled."""
    files = FilesystemSource(ORIGIN, base / "skills", ScanOptions(**options))
    return IndexedSource(files, base / "index", now_ns=lambda: time.time_ns() + ahead_ns)


def found_again(base: Path, **options: Any) -> Report:
    """What another process finds that has the same index."""
    return indexed(base, **options).skills()


def index_files(base: Path) -> list[Path]:
    """The files of the index."""
    return sorted((base / "index").iterdir())


def next_tick(base: Path) -> None:
    """Return once the file system gives new changes another time than all before."""
    probe = base / "probe"
    probe.write_text("")
    first = probe.stat().st_ctime_ns
    while probe.stat().st_ctime_ns <= first:
        probe.write_text("")
