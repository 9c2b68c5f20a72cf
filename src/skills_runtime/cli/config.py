"""The `config` commands: show settings and their sources, confirm a model address."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from skills_runtime.cli.options import (
    Assignments,
    ConfigFiles,
    ConfigOptions,
    Json,
    NoColor,
    WorkspaceRoot,
    parse_path,
    resolve_settings,
)
from skills_runtime.cli.output import stdout_console, write_notices, write_text
from skills_runtime.cli.program import ExampleCommand, create_app
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    from skills_runtime.config import Origin

_WIDE_CELLS = 140
"""Terminal width from which a setting and its source fit on one line."""

app = create_app(
    "config",
    "Show settings and their sources, and confirm a project's model.",
    "config show",
    "config show --origin --config kgent.yaml",
)


@app.command(
    "show", cls=ExampleCommand, epilog="config show --origin\nconfig show --config kgent.yaml --set run.max_steps=5"
)
def config_show(
    context: typer.Context,
    *,
    origin: Annotated[bool, typer.Option("--origin", help="Show the source of each setting.")] = False,
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Show the effective settings of this workspace."""
    from skills_runtime.config import explain, snapshot  # slow, and help needs none of it

    resolved = resolve_settings(ConfigOptions(workspace_root, config, assignments), program=context.obj.name)
    write_notices(resolved.notices)
    if as_json:
        origins: list[dict[str, str]] = [asdict(setting) for setting in explain(resolved)]
        settings = resolved.settings.model_dump(mode="json")
        write_text(msgspec.json.format(msgspec.json.encode(origins if origin else settings)).decode() + "\n")
    elif origin:
        _show_origins(explain(resolved), stdout_console(no_color=no_color))
    else:
        write_text(snapshot(resolved.settings))
    return 0


@app.command(
    "confirm",
    cls=ExampleCommand,
    epilog="config confirm https://models.example/v1 PROJECT_API_KEY\nconfig confirm http://localhost:9/v1 LOCAL_KEY",
)
def config_confirm(
    *,
    base_url: Annotated[
        str, typer.Argument(metavar="URL", help="The base URL of the model in the project's settings.")
    ],
    api_key_env: Annotated[str, typer.Argument(metavar="VARIABLE", help="The variable that holds the API key.")],
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """Trust this project to send conversations and this key to a host."""
    from skills_runtime.config import (
        ModelAddress,
        ModelConfirmations,
        check_llm_values,
        current_directory,
        resolve_workspace,
        state_home,
    )

    check_llm_values({"base_url": base_url, "api_key_env": api_key_env})
    project = resolve_workspace(parse_path(workspace_root, option="--workspace-root"), current_directory())
    is_new = ModelConfirmations(state_home()).add(ModelAddress(base_url, api_key_env, str(project)))
    outcome = "is now trusted" if is_new else "was trusted already"
    print(f"{readable_line(str(project))} {outcome} to send {api_key_env} to {readable_line(base_url)}")
    return 0


def _show_origins(origins: "Iterable[Origin]", console: Console) -> None:
    """Print the settings with their sources."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("setting", "value", "source", "note"):
        table.add_column(name, overflow="fold")
    for origin in origins:
        key, value = Text(readable_line(origin.key), style="bold"), Text(readable_line(origin.value))
        source = Text(readable_line(origin.source.removesuffix(f"#{origin.key}")), style="dim")
        note = Text(readable_line(origin.note), style="cyan")
        if console.width >= _WIDE_CELLS:
            table.add_row(key, value, source, note)
            continue
        console.print(Text.assemble(key, ": ", value))
        console.print(Padding(Text.assemble(source, "  ", note), (0, 0, 0, 4), expand=False))
    if table.rows:
        console.print(table)
