"""The same gigabyte as the agent writes it today, which does not compact: its whole conversation is held in memory."""

from benchmarks.measure import report
from benchmarks.resume_large import measure


def main() -> None:
    report(*measure("a 1 GB log without compaction", compact_every=None))


if __name__ == "__main__":
    main()
