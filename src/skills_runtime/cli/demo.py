"""The `demo` command: a scripted model, with a real skill, sandbox, approval and report."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.text import Text

from skills_runtime.cli.options import ConfigOptions, NoColor, ViewOptions, display_path, find_run, parse_path
from skills_runtime.cli.output import labeled_table, short_id, stderr_console
from skills_runtime.cli.program import ExampleCommand, create_app
from skills_runtime.cli.runs import show_verdict, verify_run
from skills_runtime.cli.terminal import InteractionOptions, Pause, resolve_interaction
from skills_runtime.ports import ApprovalRequest, Decision

if TYPE_CHECKING:
    from skills_runtime.engine import Interaction
    from skills_runtime.events import Event
    from skills_runtime.runs import Verdict

app = create_app()

_RUN_FILES = {
    "deliverables/report.md": "the result",
    "events.jsonl": "the authenticated event log",
    "transcript.md": "the log as readable text",
    "run.json": "the state of the run",
    "artifact-manifest.json": "inputs and outputs, with digests",
}


@app.command("demo", cls=ExampleCommand, epilog="demo\ndemo --output ./first-look")
def demo(
    context: typer.Context,
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DIR", help="The directory for the new run.")
    ] = "demo-output",
    no_color: NoColor = False,
) -> int:
    """Run a scripted task offline: a skill, a command, an approval, a report."""
    # The engine is slow to import, and help needs none of it.
    from skills_runtime.cli.live import create_run
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


class DemoApprover:
    """Approves the one call that the demo asks about; nobody is at a terminal to do it."""

    async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> Decision:
        """Approve the call, and say why."""
        del request, timeout_ms
        return Decision(decision="approved", decided_by="the demo itself", note="no terminal is attached")


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoInteraction(InteractionOptions):
    """Asks at the terminal; without one, the demo approves its own call and says so."""

    def build_interaction(self, pause: Pause, listen: "Callable[[Event], None]") -> "Interaction":
        """Build the interaction of the demo."""
        interaction = super(DemoInteraction, self).build_interaction(pause, listen)
        return interaction if self.console else msgspec.structs.replace(interaction, approver=DemoApprover())


def show_hints(root: Path, verdict: "Verdict", *, program: str, no_color: bool) -> None:
    """Print the files of the run and the commands to try next."""
    from skills_runtime.cli.main import COMMAND_GROUPS

    console = stderr_console(no_color=no_color)
    console.print()
    console.print(Text(display_path(root), style="bold"))
    console.print(labeled_table(_RUN_FILES, indent=2, width=0))
    show_verdict(verdict, console)
    console.print()
    console.print(Text("try next", style="bold"))
    name = short_id(root.name)
    commands = [f"runs show {name}", f"runs transcript {name}", f"runs verify {name}", "runs list"]
    if any("init" in names for _, _, names in COMMAND_GROUPS):
        commands.append("init")
    for command in commands:
        console.print(Text(f"  {program} {command}"))
