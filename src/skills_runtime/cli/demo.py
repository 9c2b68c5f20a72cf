"""The `demo` command: a scripted model, with a real skill, sandbox, approval and report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from skills_runtime.cli.language import translate
from skills_runtime.cli.options import ConfigOptions, NoColor, ViewOptions, display_path, find_run, parse_path
from skills_runtime.cli.output import labeled_table, short_id, stderr_console
from skills_runtime.cli.program import ExampleCommand, create_app
from skills_runtime.cli.runs import show_verdict, verify_run

if TYPE_CHECKING:
    from skills_runtime.runs import Verdict

app = create_app()


@app.command("demo", cls=ExampleCommand, epilog="demo\ndemo --output ./first-look")
def demo(
    context: typer.Context,
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DIR", help="The directory for the new run.")
    ] = "demo-output",
    no_color: NoColor = False,
) -> int:
    """Run a scripted demo offline: skill, command, approval, report."""
    # The engine is slow to import, and help needs none of it.
    from skills_runtime.cli.demo_approval import DemoInteraction
    from skills_runtime.cli.live import create_run
    from skills_runtime.cli.terminal import resolve_interaction
    from skills_runtime.clock import RandomIds
    from skills_runtime.config import resolve
    from skills_runtime.engine import RunRequest, build_demo_request, check_demo_sandbox

    run_id, script = RandomIds().new("run"), build_demo_request()
    path = parse_path(output, option="--output") / run_id
    resolved = resolve(Path.cwd(), session_settings=script.settings)
    check_demo_sandbox(resolved)
    view = ViewOptions(no_color=no_color)
    interaction = DemoInteraction(console=resolve_interaction(view).console, approvals="terminal")
    request = RunRequest(prompt=script.prompt, sandbox_path=path, run_id=run_id)
    ending = create_run(request, resolved, ConfigOptions(), view, context.obj, interaction)
    if ending.exit_code:
        return ending.exit_code
    verdict, _ = verify_run(find_run(str(ending.root), "."))
    show_hints(ending.root, verdict, program=context.obj.name, no_color=no_color)
    return 0 if verdict.ok else 20


def show_hints(root: Path, verdict: "Verdict", *, program: str, no_color: bool) -> None:
    """Print the files of the run and the commands to try next."""
    from skills_runtime.cli.main import COMMAND_GROUPS

    console = stderr_console(no_color=no_color)
    console.print()
    console.print(Text(display_path(root), style="bold"))
    console.print(labeled_table(_describe_files(), indent=2, width=0))
    show_verdict(verdict, console)
    console.print()
    console.print(Text(translate("demo.next", "try next"), style="bold"))
    name = short_id(root.name)
    commands = [f"runs show {name}", f"runs transcript {name}", f"runs verify {name}", "runs list"]
    if any("init" in names for _, _, names in COMMAND_GROUPS):
        commands.append("init")
    for command in commands:
        console.print(Text(f"  {program} {command}"))


def _describe_files() -> dict[str, str]:
    return {
        "deliverables/report.md": translate("demo.report", "the result"),
        "events.jsonl": translate("demo.events", "the authenticated event log"),
        "transcript.md": translate("demo.transcript", "the log as readable text"),
        "run.json": translate("demo.run", "the state of the run"),
        "artifact-manifest.json": translate("demo.manifest", "inputs and outputs, with digests"),
    }
