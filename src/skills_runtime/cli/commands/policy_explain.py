"""policy explain: may a run make this call?"""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import ConfigOptions, Json, NoColor
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class PolicyExplainOptions(ConfigOptions):
    """What `policy explain` takes."""

    call: Annotated[
        str,
        typer.Argument(
            metavar="CALL",
            help='A file with {"tool": "…", "arguments": {…}}; - is the input. Exit code: 0 allow, 26 ask, 21 deny.',
        ),
    ]
    json: Json = False
    no_color: NoColor = False


def policy_explain(options: PolicyExplainOptions, program: Program) -> int:
    """Say whether a run may make a call of any tool, and why."""
    import asyncio

    from skills_runtime.agent.run_ports import previewable_tools
    from skills_runtime.cli.judging import parse_call
    from skills_runtime.cli.machine import checked_path
    from skills_runtime.cli.render.decision import tell_decision
    from skills_runtime.cli.settings import resolve_settings
    from skills_runtime.config.files import read_text
    from skills_runtime.safety.policy_preview import preview_call

    text = sys.stdin.read() if options.call == "-" else read_text(checked_path(options.call, option="CALL"))
    call = parse_call(text, options.call)
    resolved = resolve_settings(options, program=program.name)
    preview = asyncio.run(preview_call(resolved, previewable_tools(resolved), call))
    return tell_decision(preview, resolved.notices, as_json=options.json, no_color=options.no_color)


COMMAND = Command(
    options=PolicyExplainOptions,
    work=policy_explain,
    examples=("policy explain call.json", "policy explain --json call.json"),
)
