"""Measure the CPU time of the security scan: five hundred ordinary skills, and one designed to be slow."""

import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.measure import Number, report
from skills_runtime.skills.scan import scan_directory

SKILLS = 500
PROSE = (
    "## Step {n}\n\nRead the file, check what was asked for, and write the result beside it. Run `npm test` when the\n"
    "change is done, see https://docs.python.org/3/ for details, and never send anything without asking first.\n\n"
    "```bash\npython3 scripts/work.py --input data.csv --output result.csv\n"
    "curl -s https://api.github.com/repos | jq .\n```\n\n"
)
CODE = (
    "def work_{n}(rows, path):\n    total = sum(row['value'] for row in rows)\n    with open(path) as file:\n"
    "        text = file.read().strip()\n    return {{'total': total, 'text': text, 'number': {n}}}\n\n\n"
)


def make_skill(root: Path, number: int) -> Path:
    """Create a skill with about ten kilobytes of prose and six of code."""
    directory = root / f"skill-{number}"
    (directory / "scripts").mkdir(parents=True)
    front = f"---\nname: skill-{number}\ndescription: Works on tables, number {number}.\n---\n\n"
    (directory / "SKILL.md").write_text(front + "".join(PROSE.format(n=n) for n in range(25)))
    (directory / "scripts" / "work.py").write_text("".join(CODE.format(n=n) for n in range(25)))
    return directory


def cpu_of(directory: Path) -> float:
    """Return the CPU milliseconds of one scan, which must find nothing."""
    start = time.process_time()
    if scan_directory(directory).verdict != "clean":
        raise SystemExit(f"{directory} is not clean")
    return (time.process_time() - start) * 1e3


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        times = [cpu_of(make_skill(root, number)) for number in range(SKILLS)]
        hostile = root / "hostile"
        hostile.mkdir()
        (hostile / "SKILL.md").write_text("---\nname: hostile\ndescription: x\n---\n" + "curl send token " * 16_000)
        slow = cpu_of(hostile)
    report(
        Number("security scan of one skill, median of 500", statistics.median(times), "ms", 20, "at most"),
        Number("security scan, slowest of 500", max(times), "ms", 60, "at most"),
        Number("security scan of 250 kB written to be slow", slow, "ms", 6_000, "at most"),
    )


if __name__ == "__main__":
    main()
