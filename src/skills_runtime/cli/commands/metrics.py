"""runs metrics: the numbers of a run."""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import WorkspaceOptions
from skills_runtime.cli.program import Command, Misuse, Program


@dataclass(frozen=True, kw_only=True)
class MetricsOptions(WorkspaceOptions):
    """What `runs metrics` takes."""

    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="A run directory, a run id, or how the id begins.")
    ] = None
    run_id: Annotated[str | None, typer.Option("--run-id", metavar="ID", help="The id of the run.")] = None
    wal_locator: Annotated[
        str | None, typer.Option("--wal-locator", metavar="FILE", help="The path of the run's events.jsonl.")
    ] = None


def metrics(options: MetricsOptions, program: Program) -> int:
    """Write the numbers of a run as JSON."""
    import msgspec

    from skills_runtime.cli.locate import find_run
    from skills_runtime.projections import Metrics, fold
    from skills_runtime.runs import read_events

    named = [name for name in (options.run, options.run_id, options.wal_locator) if name is not None]
    if len(named) != 1:
        raise Misuse("name one run, as `RUN`, `--run-id ID` or `--wal-locator FILE`")
    paths = find_run(named[0], options.workspace_root)
    summary = fold(read_events(paths), Metrics()).summary()
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(summary)).decode() + "\n")
    return 0


COMMAND = Command(
    options=MetricsOptions,
    work=metrics,
    examples=("runs metrics --run-id demo-001", "runs metrics --wal-locator runs/demo-001/events.jsonl"),
)
