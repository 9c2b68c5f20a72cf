"""CPU of a search that finds ten thousand skills nobody has looked at before."""

import tempfile
import time
from pathlib import Path

from benchmarks.measure import Number, report
from skills_runtime.skills import FilesystemSource, Origin

SKILLS = 10_000
PLAIN = "description: Reads text and tables from files, number {n}. Use it for documents, forms and extraction.\n"
FOLDED = (
    "description: >-\n  Reads text and tables from files, number {n}.\n  Use it for documents: forms, extraction.\n"
)
MORE = (
    "license: Apache-2.0\nmetadata:\n  author: example\n  version: '1.0'\nallowed-tools:\n  - Read\n  - Bash(git:*)\n"
)
BODY = "Look at what was asked for, do it, and check the result.\n" * 40


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        for n in range(SKILLS):
            directory = Path(place, f"group-{n % 100}", f"skill-{n}")
            directory.mkdir(parents=True)
            front = (FOLDED if n % 4 == 0 else PLAIN).format(n=n) + (MORE if n % 2 else "")
            (directory / "SKILL.md").write_text(f"---\nname: skill-{n}\n{front}---\n{BODY}")
        source = FilesystemSource(Origin("space", "web", "files"), Path(place))
        start = time.process_time()
        found = source.skills()
        seconds = time.process_time() - start
        if len(found.skills) != SKILLS or found.problems:
            raise SystemExit("not every skill was found")
    report(Number(f"scan of {SKILLS:,} skills, cold, CPU", seconds, "s", 1.5, "at most"))


if __name__ == "__main__":
    main()
