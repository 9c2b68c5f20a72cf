"""Verifying a run with everything this machine knows of it: its key, and how far the ledger saw it come."""

from pathlib import Path

from skills_runtime.cli.state import known_runs, log_ports
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.runs import RunPaths, Verdict, read_events, verify_run
from skills_runtime.runs.verify import Head


def check_run(paths: RunPaths) -> tuple[Verdict, list[str]]:
    """The verdict on a run, and what could not be asked."""
    notices: list[str] = []
    try:
        head = _known_head(paths)
    except SkillsRuntimeError as error:
        head, notices = None, [f"the ledger could not be asked how long the log was: {error.message}"]
    return verify_run(paths.root, log_ports().keys, known_head=head), notices


def _known_head(paths: RunPaths) -> Head | None:
    """Where the ledger last saw the log of the run in exactly this directory."""
    try:
        first = next(read_events(paths), None)
    except SkillsRuntimeError:
        return None  # verification itself says what is wrong with the log
    if first is None:
        return None
    with known_runs() as index:
        for run_id, directory, _ in index.places():
            if run_id == first.run_id and _same(directory, paths.root):
                row = index.get(run_id)
                return Head(row.last_seq, row.last_mac) if row.last_seq >= 0 else None
    return None


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
