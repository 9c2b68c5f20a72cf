"""`policy`: what the rules say about a call that nobody makes."""

import sys
from typing import Annotated

import typer

from skills_runtime.cli.help import ExampleCommand, create_app
from skills_runtime.cli.options import Assignments, ConfigFiles, ConfigOptions, Json, NoColor, WorkspaceRoot

app = create_app(
    "policy",
    "Ask what the rules say, without running anything.",
    "policy check -- git push",
    "policy explain call.json",
)


@app.command(
    "check",
    cls=ExampleCommand,
    epilog="policy check -- git push --force\npolicy check --json 'make test | tee log.txt'",
)
def policy_check(
    context: typer.Context,
    *,
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="CMD",
            help="A program and its arguments, or one line of shell in quotes. Exit code: 0 allow, 26 ask, 21 deny.",
        ),
    ],
    tool: Annotated[str, typer.Option("--tool", metavar="NAME", help="The tool that would run it.")] = "shell_command",
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Say whether a run may execute a command, and which rule says so."""
    from skills_runtime.cli.inputs import checked_text, resolve_settings
    from skills_runtime.cli.policy_view import tell_decision
    from skills_runtime.engine.policy_check import explain_command

    given = ConfigOptions(workspace_root, config, assignments)
    words = [checked_text(word, "CMD") for word in command]
    resolved = resolve_settings(given, program=context.obj.name)
    preview = explain_command(resolved, tool, words[0] if len(words) == 1 else words)
    return tell_decision(preview, resolved.notices, as_json=as_json, no_color=no_color)


@app.command("explain", cls=ExampleCommand, epilog="policy explain call.json\npolicy explain --json call.json")
def policy_explain(
    context: typer.Context,
    *,
    call: Annotated[
        str,
        typer.Argument(
            metavar="CALL",
            help='A file with {"tool": "…", "arguments": {…}}; - is the input. Exit code: 0 allow, 26 ask, 21 deny.',
        ),
    ],
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Say whether a run may make a call of any tool, and why."""
    import asyncio

    from skills_runtime.cli.inputs import checked_path, resolve_settings
    from skills_runtime.cli.policy_view import parse_call, tell_decision
    from skills_runtime.config.files import read_text
    from skills_runtime.engine.policy_check import explain_call

    given = ConfigOptions(workspace_root, config, assignments)
    text = sys.stdin.read() if call == "-" else read_text(checked_path(call, option="CALL"))
    planned = parse_call(text, call)
    resolved = resolve_settings(given, program=context.obj.name)
    preview = asyncio.run(explain_call(resolved, planned))
    return tell_decision(preview, resolved.notices, as_json=as_json, no_color=no_color)
