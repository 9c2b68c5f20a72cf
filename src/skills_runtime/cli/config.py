"""The `config` commands: show settings and their sources, change the user's own, confirm a model address."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from skills_runtime.cli.language import translate, translate_phrase
from skills_runtime.cli.options import (
    Assignments,
    ConfigFiles,
    ConfigOptions,
    Json,
    NoColor,
    WorkspaceRoot,
    check_text,
    parse_path,
    parse_value,
    resolve_settings,
)
from skills_runtime.cli.output import stdout_console, write_notices, write_text
from skills_runtime.cli.program import ExampleCommand, UsageError, create_app
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.text import printable, readable_line

if TYPE_CHECKING:
    from pathlib import Path

    from skills_runtime.config import Origin

_VALUE_CELLS = 32
"""Longer values push their source to the right, so that the others stay in a narrow column."""

app = create_app(
    "config",
    "Show and change settings, and confirm a project's model.",
    "config show llm --origin",
    "config set run.max_steps 60",
)


@app.command(
    "show",
    cls=ExampleCommand,
    epilog="config show llm --origin\nconfig show --config kgent.yaml --set run.max_steps=5",
)
def config_show(
    *,
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="A setting or a section, such as llm; all by default.")
    ] = None,
    origin: Annotated[bool, typer.Option("--origin", help="Show the source of each setting.")] = False,
    as_json: Json = False,
    no_color: NoColor = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Show the effective settings of this workspace."""
    from skills_runtime.config import explain, select_settings, snapshot  # slow, and help needs none of it

    resolved = resolve_settings(ConfigOptions(workspace_root, config, assignments))
    settings = resolved.settings.model_dump(mode="json") if key is None else select_settings(resolved, key)
    write_notices(resolved.notices)
    origins = [row for row in explain(resolved) if key is None or row.key == key or row.key.startswith(f"{key}.")]
    if as_json:
        rows: list[dict[str, str]] = [asdict(row) for row in origins]
        write_text(msgspec.json.format(msgspec.json.encode(rows if origin else settings)).decode() + "\n")
    elif origin:
        _show_origins(origins, stdout_console(no_color=no_color))
    else:
        write_text(snapshot(resolved.settings) if key is None else _as_yaml(key, settings))
    return 0


def _as_yaml(key: str, value: Any) -> str:
    """Return one setting or section as YAML, ready for a configuration file."""
    import yaml  # slow, and help needs none of it

    from skills_runtime.config import nest_value

    return yaml.dump(
        nest_value(key, value), Dumper=yaml.CSafeDumper, allow_unicode=True, default_flow_style=False, sort_keys=False
    )


@app.command(
    "set",
    cls=ExampleCommand,
    epilog="config set safety.allowlist '[git status, ls]'\nconfig set run.max_steps --unset",
)
def config_set(
    *,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The setting, such as run.max_steps.")],
    value: Annotated[
        str | None, typer.Argument(metavar="[VALUE]", help="The new value as YAML; put `--` before a negative number.")
    ] = None,
    unset: Annotated[bool, typer.Option("--unset", help="Remove the setting, so that its default applies.")] = False,
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """Change a setting in your own configuration file."""
    from skills_runtime.config import set_user_setting, unset_user_setting

    check_text(key, "KEY")
    if (value is None) != unset:
        raise UsageError("give either a value or `--unset`")
    if value is None:
        changed = unset_user_setting(key)
    else:
        changed = [set_user_setting(key, parse_value(check_text(value, "VALUE"), key))]
    action, name = "removed" if unset else "set", readable_line(key)
    for path in changed:
        text = "{key} {action, select, removed {removed from} other {set in}} {path}"
        print(translate("config.changed", text, key=name, action=action, path=readable_line(str(path))))
    if not changed:
        print(translate("config.not_set", "{key} was not set", key=name))
    _report_override(key, changed, resolve_options=ConfigOptions(workspace_root))
    return 0


def _report_override(key: str, changed: "Sequence[Path]", *, resolve_options: ConfigOptions) -> None:
    """Say which source with higher priority decides instead of the changed file."""
    from skills_runtime.config import explain

    try:
        resolved = resolve_settings(resolve_options)
    except SkillsRuntimeError as error:
        # The change itself is valid and written; the settings of this directory have another fault.
        text = "the settings of this directory cannot be used yet: {problem}"
        write_notices([translate("config.unusable", text, problem=error.message)])
        return
    labels = [f"yaml:user:{printable(str(path))}#" for path in changed]
    overriding = [
        row
        for row in explain(resolved)
        if (row.key == key or row.key.startswith(f"{key}."))
        and not row.source.startswith(("yaml:embedded_default", "profile:", "program:", *labels))
    ]
    text = "`{key}` is `{value}` in this directory: {origin} overrides your file"
    write_notices(
        translate(
            "config.overridden",
            text,
            key=row.key,
            value=row.value,
            origin=translate_phrase(resolved.describe_origin(row.key)),
        )
        for row in overriding
    )


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
    trusted = translate(
        "config.confirmed",
        "{path} {news, select, new {is now trusted} other {was trusted already}} to send {variable} to {url}",
        path=readable_line(str(project)),
        news="new" if is_new else "old",
        variable=api_key_env,
        url=readable_line(base_url),
    )
    print(trusted)
    return 0


def _show_origins(origins: "Sequence[Origin]", console: Console) -> None:
    """Print the settings with their sources in narrow columns; a note gets a line of its own."""
    key_width = max((len(origin.key) for origin in origins), default=0)
    for origin in origins:
        key, value = readable_line(origin.key), readable_line(origin.value)
        source = Text(readable_line(origin.source.removesuffix(f"#{origin.key}")), style="dim")
        line = Text.assemble((f"{key:{key_width}}  ", "bold"), value)
        line.append(" " * max(key_width + 2 + _VALUE_CELLS - line.cell_len, 0))
        if line.cell_len + 2 + source.cell_len <= console.width:
            console.print(Text.assemble(line, "  ", source), soft_wrap=True)
        else:
            console.print(Text.assemble((key, "bold"), ": ", value))
            console.print(Padding(source, (0, 0, 0, 4), expand=False))
        if origin.note:
            console.print(Padding(Text(readable_line(origin.note), style="cyan"), (0, 0, 0, 4), expand=False))
