"""Run every benchmark and print one table; exit with 1 if a bound is broken."""

import argparse
import subprocess
import sys

from benchmarks.measure import run_benchmark

BENCHMARKS = (
    "import_agent", "create_run", "append", "resume_large", "turns", "guard", "gate", "redaction", "scan_skills",
    "reload_skills", "mentions", "route_skills", "scan_security", "database_skills", "sandbox_leaks", "executions",
    "executions_served", "sse", "studio", "sandbox", "concurrent",
)  # fmt: skip


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which to run: {', '.join(BENCHMARKS)}")
    names: list[str] = parser.parse_args(words).names
    if unknown := set(names) - {*BENCHMARKS}:
        parser.error(f"there is no benchmark `{min(unknown)}`; `--help` lists them")
    broken = 0
    for name in names or BENCHMARKS:
        print(f"{name} …", file=sys.stderr, flush=True)
        try:
            numbers = run_benchmark(name)
        except subprocess.CalledProcessError:  # it has said itself why
            broken += 1
            print(f"FAILED {name}")
            continue
        for number in numbers:
            broken += not number.holds
            mark = "ok    " if number.holds else "BROKEN"
            print(f"{mark} {number.what:52} {number.value:12,.2f} {number.unit:3} ({number.sense} {number.bound:,g})")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
