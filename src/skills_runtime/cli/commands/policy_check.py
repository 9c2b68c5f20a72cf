"""policy check: may a run execute this command?"""

from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import ConfigOptions, Json, NoColor
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class PolicyCheckOptions(ConfigOptions):
    """What `policy check` takes."""

    command: Annotated[
        list[str],
        typer.Argument(
            metavar="CMD",
            help="A program and its arguments, or one line of shell in quotes. Exit code: 0 allow, 26 ask, 21 deny.",
        ),
    ]
    tool: Annotated[str, typer.Option("--tool", metavar="NAME", help="The tool that would run it.")] = "shell_command"
    json: Json = False
    no_color: NoColor = False


def policy_check(options: PolicyCheckOptions, program: Program) -> int:
    """Say whether a run may execute a command, and which rule says so."""
    from skills_runtime.agent.run_ports import previewable_tools
    from skills_runtime.cli.machine import checked_text
    from skills_runtime.cli.render.decision import tell_decision
    from skills_runtime.cli.settings import resolve_settings
    from skills_runtime.safety.policy_preview import command_intent, preview_command

    words = [checked_text(word, "CMD") for word in options.command]
    resolved = resolve_settings(options, program=program.name)
    preview = preview_command(resolved, previewable_tools(resolved), options.tool, command_intent(words))
    return tell_decision(preview, resolved.notices, as_json=options.json, no_color=options.no_color)


COMMAND = Command(
    options=PolicyCheckOptions,
    work=policy_check,
    examples=("policy check -- git push --force", "policy check --json 'make test | tee log.txt'"),
)
