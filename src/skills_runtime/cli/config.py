"""`config`: the settings that hold here, and where each comes from."""

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from skills_runtime.cli.help import ExampleCommand, create_app
from skills_runtime.cli.options import Assignments, ConfigFiles, ConfigOptions, Json, NoColor, WorkspaceRoot
from skills_runtime.text import readable_line

app = create_app(
    "config",
    "Look at settings and where they come from.",
    "config show",
    "config show --origin --config kgent.yaml",
)


@app.command(
    "show", cls=ExampleCommand, epilog="config show --origin\nconfig show --config kgent.yaml --set run.max_steps=5"
)
def config_show(
    context: typer.Context,
    *,
    origin: Annotated[bool, typer.Option("--origin", help="Say of every setting where it comes from.")] = False,
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Show the settings that hold in this workspace."""
    import msgspec

    from skills_runtime.cli.inputs import resolve_settings
    from skills_runtime.cli.text import write_text
    from skills_runtime.config import explain, snapshot

    given = ConfigOptions(workspace_root, config, assignments)
    resolved = resolve_settings(given, program=context.obj.name)
    for notice in resolved.notices:
        sys.stderr.write(f"notice: {readable_line(notice)}\n")
    if as_json:
        origins: list[dict[str, str]] = [asdict(one) for one in explain(resolved)]
        settings = resolved.settings.model_dump(mode="json")
        write_text(msgspec.json.format(msgspec.json.encode(origins if origin else settings)).decode() + "\n")
    elif origin:
        from skills_runtime.cli.output import show_origins

        show_origins(explain(resolved), no_color=no_color)
    else:
        write_text(snapshot(resolved.settings))
    return 0
