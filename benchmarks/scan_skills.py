"""Measure the CPU time of finding ten thousand skills: without an index, with one, and a single skill by name."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import Number, report
from skills_runtime.skills import FilesystemSource, Library, Origin
from skills_runtime.skills.sources import IndexedSource
from skills_runtime.skills.sources.filesystem_index import GRAIN_NS

SKILLS = 10_000
# The best round counts: other work on the machine only makes rounds slower.
ROUNDS = 5
MENTIONS = 1000
PLAIN = "description: Reads text and tables from files, number {n}. Use it for documents, forms and extraction.\n"
FOLDED = (
    "description: >-\n  Reads text and tables from files, number {n}.\n  Use it for documents: forms, extraction.\n"
)
MORE = (
    "license: Apache-2.0\nmetadata:\n  author: example\n  version: '1.0'\nallowed-tools:\n  - Read\n  - Bash(git:*)\n"
)
BODY = "Look at what was asked for, do it, and check the result.\n" * 40


def make_skills(root: Path) -> None:
    """Create ten thousand skills with timestamps so old that every later change is detected."""
    for n in range(SKILLS):
        directory = root / f"group-{n % 100}" / f"skill-{n}"
        directory.mkdir(parents=True)
        front = (FOLDED if n % 4 == 0 else PLAIN).format(n=n) + (MORE if n % 2 else "")
        (directory / "SKILL.md").write_text(f"---\nname: skill-{n}\n{front}---\n{BODY}")
    time.sleep(GRAIN_NS / 1e9 + 0.1)


def library_at(base: Path) -> Library:
    """Return the library of a fresh process."""
    return Library([IndexedSource(FilesystemSource(Origin("space", "web", "files"), base / "skills"), base / "index")])


def cpu_of(work: Callable[[], object]) -> float:
    """Return the CPU seconds of a function."""
    start = time.process_time()
    work()
    return time.process_time() - start


def search(base: Path) -> Library:
    """Return a library that has found everything."""
    library = library_at(base)
    if len(library.list()) != SKILLS or library.problems():
        raise SystemExit("not every skill was found")
    return library


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        base = Path(place)
        make_skills(base / "skills")
        cold = cpu_of(lambda: search(base))
        warm = min(cpu_of(lambda: search(base)) for _ in range(ROUNDS))
        library = search(base)
        text = "Read it with $[web].skill-4711, please."
        exact = min(cpu_of(lambda: [library.resolve(text) for _ in range(MENTIONS)]) for _ in range(ROUNDS))
        named = min(
            cpu_of(lambda: [library.find_by_name("skill-4711") for _ in range(MENTIONS)]) for _ in range(ROUNDS)
        )
    report(
        Number(f"scan of {SKILLS:,} skills, cold, CPU", cold, "s", 2, "at most"),
        Number(f"scan of {SKILLS:,} skills, warm, CPU", warm, "s", 0.15, "at most"),
        Number(f"one mention among {SKILLS:,} skills, CPU", exact / MENTIONS * 1000, "ms", 1, "at most"),
        Number(f"one name among {SKILLS:,} skills, CPU", named / MENTIONS * 1000, "ms", 1, "at most"),
    )


if __name__ == "__main__":
    main()
