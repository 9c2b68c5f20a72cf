"""skills exec: one skill executed without a model, JSON in and JSON out."""

from dataclasses import dataclass, field
from typing import Annotated

import typer

from skills_runtime.cli.options import ConfigOptions, Json
from skills_runtime.cli.program import Command, Program

PLACE = ".skills_runtime_sdk/executions"
"""Where executions are kept, below the workspace."""


@dataclass(frozen=True, kw_only=True)
class SkillsExecOptions(ConfigOptions):
    """What `skills exec` takes."""

    name: Annotated[str, typer.Argument(metavar="NAME", help="The skill, by its name or its whole mention.")]
    input: Annotated[
        str, typer.Option("--input", metavar="JSON", help="What it reads: JSON, @FILE, or - for standard input.")
    ] = "{}"
    timeout_ms: Annotated[
        int | None, typer.Option("--timeout-ms", metavar="N", min=1, help="How long it may take.")
    ] = None
    key: Annotated[
        str | None, typer.Option("--idempotency-key", metavar="KEY", help="The same key gets the same result.")
    ] = None
    artifacts_dir: Annotated[
        str | None, typer.Option("--artifacts-dir", metavar="DIR", help=f"Where it is kept ({PLACE}).")
    ] = None
    source: Annotated[
        list[str], typer.Option("--from", metavar="DIR", help="Look among the skills below a directory; repeatable.")
    ] = field(default_factory=list[str])
    json: Json = False


def skills_exec(options: SkillsExecOptions, program: Program) -> int:
    """Execute a skill behind the fence, without a model; its output is JSON."""
    from skills_runtime.agent.skills.executing import executor_for
    from skills_runtime.agent.skills.libraries import library_of
    from skills_runtime.cli.machine import checked_path, checked_text
    from skills_runtime.cli.routing import library_at
    from skills_runtime.cli.settings import resolve_settings
    from skills_runtime.cli.skill_executing import execute, input_of, skill_named, tell
    from skills_runtime.cli.visits import Visits
    from skills_runtime.executions import PoolLimits

    value = input_of(checked_text(options.input, "--input"))
    resolved = resolve_settings(options, program=program.name)
    configured = library_at(options.source) if options.source else library_of(resolved)
    library, skill = skill_named(checked_text(options.name, "NAME"), configured, resolved.environment.process)
    place = resolved.workspace_root / PLACE
    if options.artifacts_dir is not None:
        place = checked_path(options.artifacts_dir, option="--artifacts-dir")
    # One execution needs nothing that waits for the next.
    executor = executor_for(place, resolved, library, doorman=Visits().doorman, pool=PoolLimits(warm=0))
    execution = execute(executor, skill, value, timeout_ms=options.timeout_ms, key=options.key)
    return tell(execution, as_json=options.json)


COMMAND = Command(
    options=SkillsExecOptions,
    work=skills_exec,
    examples=(
        "skills exec get-available-resources",
        """skills exec text-statistics --input '{"text": "two words"}' --json""",
    ),
)
