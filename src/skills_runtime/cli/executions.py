"""The `executions` commands: list and show executions of skills."""

from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast, get_args

import msgspec
import typer

from skills_runtime.cli.language import translate
from skills_runtime.cli.options import (
    Assignments,
    ConfigFiles,
    ConfigOptions,
    Json,
    WorkspaceRoot,
    check_text,
    display_path,
    parse_optional_path,
    resolve_settings,
)
from skills_runtime.cli.output import counted, pad, write_json
from skills_runtime.cli.program import ExampleCommand, UsageError, create_app
from skills_runtime.cli.skills_run import EXECUTIONS
from skills_runtime.errors import NotFound
from skills_runtime.text import readable, readable_line

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from skills_runtime.engine import Executions
    from skills_runtime.executions import Execution, Record

app = create_app(
    "executions",
    "List and show executions of skills.",
    "executions list",
    "executions show exec-0123456789ab",
)

T = TypeVar("T")
MAX_SHOWN_CHARS = 4000
"""Maximum length of a text that is shown; the file has the rest."""
_INTERNAL_FIELDS = ("owner", "key_digest")
ExecutionsDir = Annotated[
    str | None, typer.Option("--artifacts-dir", metavar="DIR", help=f"The directory of executions ({EXECUTIONS}).")
]


@app.command("list", cls=ExampleCommand, epilog="executions list\nexecutions list --skill csv-summary --status failed")
def executions_list(
    context: typer.Context,
    *,
    skill: Annotated[str | None, typer.Option("--skill", metavar="NAME", help="Only executions of this skill.")] = None,
    status: Annotated[
        str | None,
        typer.Option("--status", metavar="STATUS", help="running, completed, failed, timed_out or cancelled."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=500, help="The number to list.")] = 20,
    artifacts_dir: ExecutionsDir = None,
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """List executions, newest first."""
    # The engine is slow to import, and help needs none of it.
    from skills_runtime.executions import Status

    if status is not None and status not in get_args(Status):
        raise UsageError(f"`--status {status}` is not a status; use one of: {', '.join(get_args(Status))}")
    options = ConfigOptions(workspace_root, config, assignments)
    name = check_text(skill, "--skill") if skill is not None else None
    chosen_status = cast("Status | None", status)
    executions = _open(options, artifacts_dir)
    # A list of nothing leaves nothing behind.
    has_any = executions.directory.is_dir()
    records = _run(executions, executions.list(limit=limit, status=chosen_status, skill=name)) if has_any else ()
    if as_json:
        write_json([_document(record) for record in records])
        return 0
    for record in records:
        duration = f"{record.duration_ms / 1000:.2f} s"
        reason = f"  {readable_line(record.error.message)}" if record.error is not None else ""
        print(
            f"{record.execution_id}  {pad(_describe_status(record.status), 9)}  {record.created_at[:19]}  {duration:>8}"
            f"  {readable_line(record.skill)}{reason}"
        )
    if not records:
        print(translate("executions.none", "no executions; `skills exec NAME` executes a skill"))
    return 0


@app.command(
    "show", cls=ExampleCommand, epilog="executions show exec-0123456789ab\nexecutions show exec-0123456789ab --json"
)
def executions_show(
    context: typer.Context,
    *,
    execution_id: Annotated[str, typer.Argument(metavar="ID", help="The id of an execution.")],
    artifacts_dir: ExecutionsDir = None,
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Show an execution: what went wrong, its output, messages and files."""
    options = ConfigOptions(workspace_root, config, assignments)
    executions, name = _open(options, artifacts_dir), check_text(execution_id, "ID")
    if not executions.directory.is_dir():
        raise NotFound(
            f"there is no execution {name[:80]!a} in {display_path(executions.directory)}",
            hint="`executions list` lists them; `--artifacts-dir` names another directory",
        )
    execution = _run(executions, executions.show(name))
    directory = executions.directory_of(execution.id)
    if as_json:
        document = _document(execution.record)
        write_json({**document, "output": execution.output, "stderr": execution.stderr, "directory": str(directory)})
    else:
        _show(execution, directory)
    return 0


def _open(options: ConfigOptions, artifacts_dir: str | None) -> "Executions":
    from skills_runtime.config import state_home
    from skills_runtime.engine import ExecutionOptions, Executions, Workspace

    resolved = resolve_settings(options)
    directory = parse_optional_path(artifacts_dir, option="--artifacts-dir")
    workspace = Workspace(workspace_root=resolved.workspace_root, state=state_home())
    return Executions(workspace, ExecutionOptions(resolved=resolved, directory=directory))


def _run(executions: "Executions", work: "Coroutine[Any, Any, T]") -> T:
    """Run one operation with the executions open."""
    import asyncio

    async def run() -> T:
        async with executions:
            return await work

    return asyncio.run(run())


def _show(execution: "Execution", directory: "Path") -> None:
    record = execution.record
    print(f"{record.execution_id}  {readable_line(record.skill)}  {_describe_status(record.status)}")
    if record.error is not None:
        failure = f"{readable_line(record.error.message)} ({record.error.code})"
        print(translate("execution.error", "error: {text}", text=failure))
    print(translate("execution.started", "started: {time}", time=record.created_at))
    print(translate("execution.duration", "duration: {time}", time=f"{record.duration_ms / 1000:.2f} s"))
    if record.exit_code is not None:
        print(translate("execution.exit", "exit code: {code}", code=str(record.exit_code)))
    print(translate("execution.directory", "directory: {path}", path=readable_line(display_path(directory))))
    for artifact in record.artifacts:
        about = f"{readable_line(artifact.path)}  {counted(artifact.size, 'byte')}"
        print(translate("execution.artifact", "artifact: {text}", text=about))
    output, messages = translate("execution.output", "output:"), translate("execution.messages", "messages:")
    for label, text in ((output, execution.stdout), (messages, execution.stderr)):
        if text.strip():
            total = translate("execution.total", "… ({length} in total)", length=counted(len(text), "character"))
            rest = f"\n  {total}" if len(text) > MAX_SHOWN_CHARS else ""
            lines = readable(text[:MAX_SHOWN_CHARS]).rstrip().splitlines()
            print(f"{label}\n" + "\n".join(f"  {line}" for line in lines) + rest)


def _describe_status(status: str) -> str:
    statuses = (
        "{status, select, running {running} completed {completed} failed {failed} timed_out {timed_out}"
        " cancelled {cancelled} other {{status}}}"
    )
    return translate("execution.status", statuses, status=status)


def _document(record: "Record") -> dict[str, Any]:
    fields = msgspec.to_builtins(record)
    return {name: value for name, value in fields.items() if name not in _INTERNAL_FIELDS}
