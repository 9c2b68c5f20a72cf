"""`runs`: which runs there are, and what one of them did."""

import sys
from typing import Annotated, Literal

import typer

from skills_runtime.cli.errors import Misuse
from skills_runtime.cli.help import ExampleCommand, create_app
from skills_runtime.cli.options import ConfigOptions, Json, NoColor, RunReference, WorkspaceRoot
from skills_runtime.text import readable_line

app = create_app(
    "runs", "Look at runs, talk to them, and go on with them.", "runs list --status failed", "runs show demo-001"
)
top = create_app()
"""What can be called without `runs` before it."""
_LIST = "runs list --status failed\nls --session demo --search report"
_VERIFY = "verify ./runs/demo-001\nruns verify demo-001 --json"


@top.command("ls", cls=ExampleCommand, epilog=_LIST)
@app.command("list", cls=ExampleCommand, epilog=_LIST)
def list_runs(
    context: typer.Context,
    *,
    status: Annotated[
        str | None, typer.Option("--status", metavar="STATE", help="Only runs in this state, such as failed.")
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Only runs of this session, task by task.")
    ] = None,
    search: Annotated[
        str | None, typer.Option("--search", metavar="TEXT", help="Only runs whose task or answer has these words.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most this many, the newest.")] = 50,
    everything: Annotated[bool, typer.Option("--all", help="Runs of every workspace on this machine.")] = False,
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """List the runs of this workspace, newest first."""
    from skills_runtime.cli.runs_view import (
        run_problems,
        show_problems,
        show_rows,
        show_tasks,
        waiting_kinds,
        write_rows,
    )
    from skills_runtime.cli.state import open_service
    from skills_runtime.engine import RunFilter
    from skills_runtime.events.states import parse_status

    wanted = RunFilter(
        status=parse_status(status) if status else None,
        session_id=session,
        text=search or "",
        everywhere=everything,
    )
    with open_service(ConfigOptions(workspace_root)) as service:
        problems = run_problems(service.refresh(everywhere=everything))
        rows = service.list_runs(wanted, limit=limit)
        kinds = waiting_kinds(service, rows)
    if as_json:
        write_rows(rows, sys.stdout.buffer)
        return 0
    show_problems(problems, program=context.obj.name, no_color=no_color)
    show = show_tasks if session else show_rows
    show(rows, kinds=kinds, program=context.obj.name, no_color=no_color)
    return 0


@app.command("show", cls=ExampleCommand, epilog="runs show ./runs/demo-001\nruns show demo-001 --json")
def show(
    context: typer.Context,
    *,
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    run: RunReference,
) -> int:
    """Show one run: state, steps, files, open questions."""
    from skills_runtime.cli.runs_view import read_page, show_page, write_page
    from skills_runtime.cli.state import find_run

    page = read_page(find_run(run, workspace_root))
    if as_json:
        write_page(page, sys.stdout)
    else:
        show_page(page, run, program=context.obj.name, no_color=no_color)
    return 0


@app.command(
    "tail", cls=ExampleCommand, epilog="runs tail demo-001 --follow\nruns tail ./runs/demo-001 --from 12 --json"
)
def tail(
    *,
    start: Annotated[int, typer.Option("--from", min=0, metavar="SEQ", help="The first event to show.")] = 0,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run ends.")] = False,
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    run: RunReference,
) -> int:
    """Show the events of a run, one line each."""
    from skills_runtime.cli.runs_view import copy_lines, follow_log, line_writer
    from skills_runtime.cli.state import find_run

    found = find_run(run, workspace_root)
    write = _write_bytes if as_json else line_writer(no_color=no_color)
    (follow_log if follow else copy_lines)(found, start, write)
    return 0


def _write_bytes(line: bytes, number: int) -> None:
    del number
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


@top.command("verify", cls=ExampleCommand, epilog=_VERIFY)
@app.command("verify", cls=ExampleCommand, epilog=_VERIFY)
def verify(
    *,
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    run: RunReference,
) -> int:
    """Check a run against its log, and the log against its key."""
    from skills_runtime.cli.output import answers
    from skills_runtime.cli.runs_view import check_run, show_verdict, write_verdict
    from skills_runtime.cli.state import find_run

    verdict, notices = check_run(find_run(run, workspace_root))
    if as_json:
        write_verdict(verdict, sys.stdout)
    else:
        for notice in notices:
            sys.stderr.write(f"notice: {readable_line(notice)}\n")
        show_verdict(verdict, answers(no_color=no_color))
    return 0 if verdict.ok else 20


@app.command(
    "export", cls=ExampleCommand, epilog="runs export demo-001\nruns export ./runs/demo-001 --output demo-001.tar.gz"
)
def export(
    *,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Also pack the run into this .tar.gz file.")
    ] = None,
    with_blobs: Annotated[
        bool, typer.Option("--with-blobs", help="Include the private contents the log only refers to.")
    ] = False,
    html: Annotated[
        str | None,
        typer.Option("--html", metavar="FILE", help="Write the run as one web page instead, into this file."),
    ] = None,
    lang: Annotated[Literal["en", "zh"], typer.Option("--lang", help="The language of that page.")] = "en",
    workspace_root: WorkspaceRoot = ".",
    run: RunReference,
) -> int:
    """Write checksums and provenance of a run, or an archive."""
    from skills_runtime.cli.inputs import checked_path
    from skills_runtime.cli.state import find_run, shown_path
    from skills_runtime.cli.text import write_text

    if html is not None and (output is not None or with_blobs):
        raise Misuse("`--html` writes a page and nothing else; leave out `--output` and `--with-blobs`")
    found = find_run(run, workspace_root)
    if html is not None:
        place = checked_path(html, option="--html")
        found.write_page(place, lang)
        write_text(f"{shown_path(place)}\n")
        sys.stdout.flush()
        return 0
    archive = checked_path(output, option="--output") if output is not None else None
    for path in found.export(archive, with_blobs=with_blobs):
        write_text(f"{shown_path(path)}\n")
    sys.stdout.flush()
    return 0


@app.command(
    "metrics",
    cls=ExampleCommand,
    epilog="runs metrics --run-id demo-001\nruns metrics --wal-locator runs/demo-001/events.jsonl",
)
def metrics(
    *,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="A run directory, a run id, or how the id begins.")
    ] = None,
    run_id: Annotated[str | None, typer.Option("--run-id", metavar="ID", help="The id of the run.")] = None,
    wal_locator: Annotated[
        str | None, typer.Option("--wal-locator", metavar="FILE", help="The path of the run's events.jsonl.")
    ] = None,
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """Write the numbers of a run as JSON."""
    import msgspec

    from skills_runtime.cli.state import find_run
    from skills_runtime.projections import Metrics, fold

    named = [name for name in (run, run_id, wal_locator) if name is not None]
    if len(named) != 1:
        raise Misuse("name one run, as `RUN`, `--run-id ID` or `--wal-locator FILE`")
    summary = fold(find_run(named[0], workspace_root).events(), Metrics()).summary()
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(summary)).decode() + "\n")
    return 0


@top.command("transcript", cls=ExampleCommand, epilog="transcript ./runs/demo-001\ntranscript demo-001 --check")
def transcript(
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether transcript.md is what the log gives.")
    ] = False,
    workspace_root: WorkspaceRoot = ".",
    run: RunReference,
) -> int:
    """Write a run as prose, made from its log."""
    from skills_runtime.cli.state import find_run
    from skills_runtime.cli.text import write_text

    found = find_run(run, workspace_root)
    if not check:
        for piece in found.transcript():
            write_text(piece)
        return 0
    if found.has_true_transcript():
        sys.stdout.write("the transcript is what the log gives\n")
        return 0
    sys.stdout.write("the transcript is not the one the log gives\n")
    return 20
