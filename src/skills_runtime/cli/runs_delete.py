"""The `runs delete` and `runs prune` commands."""

import re
import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from skills_runtime.cli.options import ConfigOptions, Json, WorkspaceRoot, open_service
from skills_runtime.cli.output import format_count, plural, short_id, stderr_console, write_json
from skills_runtime.cli.program import ExampleCommand, UsageError, create_app
from skills_runtime.errors import ValidationFailed
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    from skills_runtime.engine import DeletedRuns

app = create_app()

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
_AGE = re.compile(r"(\d{1,5})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7}
_MAX_LISTED = 10


@app.command("delete", cls=ExampleCommand, epilog="runs delete demo-001\nruns delete last --force --yes")
def delete(
    *,
    force: Annotated[bool, typer.Option("--force", help="Cancel runs that have not ended, then delete them.")] = False,
    yes: Yes = False,
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Run directories, run ids, or `last`.")],
) -> int:
    """Delete runs with their directories and the runs of their sub-agents."""
    import asyncio  # slow, as is the engine, and help needs neither

    from skills_runtime.engine import DeletedRuns

    with open_service(ConfigOptions(workspace_root)) as service:
        paths = list(dict.fromkeys(service.find(run).root for run in runs))
        _confirm([f"{short_id(path.name)}  {path}" for path in paths], yes=yes)
        deleted = DeletedRuns()
        for path in paths:
            deleted += asyncio.run(service.delete(str(path), force=force))
    return _write_deleted(deleted, as_json=as_json)


@app.command("prune", cls=ExampleCommand, epilog="runs prune --older-than 30d\nruns prune --keep 50 --yes")
def prune(
    *,
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="AGE", help="Only runs that ended before, such as 12h or 30d.")
    ] = None,
    keep: Annotated[int | None, typer.Option("--keep", metavar="N", min=0, help="Keep the newest N runs.")] = None,
    yes: Yes = False,
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """Delete ended runs of this workspace by age or number."""
    import asyncio  # slow, and help needs none of it

    if older_than is None and keep is None:
        raise UsageError("say which runs to delete: `--older-than AGE`, `--keep N`, or both")
    age = parse_age(older_than) if older_than is not None else None
    with open_service(ConfigOptions(workspace_root)) as service:
        rows = service.list_prunable(older_than=age, keep=keep)
        if rows:
            _confirm([f"{short_id(row.run_id)}  {readable_line(row.title)[:50]}" for row in rows], yes=yes)
        deleted = asyncio.run(service.prune(rows))
    return _write_deleted(deleted, as_json=as_json)


def parse_age(text: str) -> timedelta:
    """Parse an age such as `12h`, `30d` or `8w`."""
    matched = _AGE.fullmatch(text.strip().lower())
    if matched is None:
        raise ValidationFailed(f"`--older-than {text}` is not an age", hint="write hours, days or weeks: 12h, 30d, 8w")
    return timedelta(hours=int(matched[1]) * _HOURS[matched[2]])


def _confirm(lines: Sequence[str], *, yes: bool) -> None:
    """Ask before anything is deleted; without a terminal, `--yes` is needed."""
    from skills_runtime.cli.terminal import is_interactive, read_line_sync

    if yes:
        return
    if not is_interactive():
        raise UsageError(f"{plural(len(lines), 'run')} would be deleted; without a terminal, confirm with `--yes`")
    console = stderr_console()
    for line in lines[:_MAX_LISTED]:
        console.print(Text(f"  {line}"))
    if len(lines) > _MAX_LISTED:
        console.print(Text(f"  … {len(lines) - _MAX_LISTED} more"))
    console.print(Text(f"Delete {plural(len(lines), 'run')} for good? [y/N] ", style="bold"), end="")
    console.file.flush()
    if (read_line_sync(sys.stdin.fileno()) or "").strip().lower() not in ("y", "yes"):
        console.print(Text("nothing was deleted"))
        raise typer.Exit(1)


def _write_deleted(deleted: "DeletedRuns", *, as_json: bool) -> int:
    if as_json:
        write_json(deleted, pretty=False)
    else:
        size = f"{format_count(deleted.bytes)}B" if deleted.bytes >= 1000 else f"{deleted.bytes} B"
        sys.stdout.write(f"deleted {plural(len(deleted.run_ids), 'run')}, freed {size}\n")
        if deleted.skipped:
            sys.stderr.write(f"kept {plural(len(deleted.skipped), 'run')} that forks or running processes need\n")
    return 0
