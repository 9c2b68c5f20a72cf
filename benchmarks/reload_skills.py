"""Measure the wall time until a changed skill is reported, among a few and among ten thousand."""

import asyncio
import tempfile
import time
from contextlib import aclosing
from pathlib import Path

from benchmarks.measure import Number, report
from benchmarks.scan_skills import SKILLS, make_skills
from skills_runtime.skills import FilesystemSource, Library, Origin
from skills_runtime.skills.sources import IndexedSource
from skills_runtime.skills.watch import watch_skills

FEW = 50
# The best round counts: other work on the machine only makes rounds slower.
ROUNDS = 5


def library_at(root: Path, index: Path) -> Library:
    return Library([IndexedSource(FilesystemSource(Origin("space", "web", "files"), root), index)])


async def reloaded(root: Path, index: Path) -> float:
    """Return the wall milliseconds from an edit to its report."""
    since = library_at(root, index)
    file = since.list()[0].path
    assert file is not None
    times: list[float] = []
    async with aclosing(watch_skills(lambda: library_at(root, index), since=since)) as changes:
        for number in range(ROUNDS + 1):
            told = asyncio.ensure_future(anext(changes))
            if number:
                await asyncio.sleep(0.5)  # edits count once the watch is active
            draft = file.with_name("draft")
            draft.write_text(f"{file.read_text()}And again.\n")
            start = time.perf_counter()
            draft.replace(file)
            found = await told
            times.append((time.perf_counter() - start) * 1000)
            if len(found.changed) != 1 or found.added or found.removed or found.problems:
                raise SystemExit("something else than the edit was told")
    return min(times[1:])


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        base = Path(place)
        make_skills(base / "many")
        for n in range(FEW):
            directory = base / "few" / f"skill-{n}"
            directory.mkdir(parents=True)
            (directory / "SKILL.md").write_text(f"---\nname: skill-{n}\ndescription: Does {n}.\n---\n")
        few = asyncio.run(reloaded(base / "few", base / "index"))
        many = asyncio.run(reloaded(base / "many", base / "index"))
    report(
        Number(f"one changed skill among {FEW}, told after", few, "ms", 200, "at most"),
        Number(f"one changed skill among {SKILLS:,}, told after", many, "ms", 300, "at most"),
    )


if __name__ == "__main__":
    main()
