"""config show: the settings that hold here, and where each comes from."""

import sys
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import ConfigOptions, Json, NoColor
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class ConfigShowOptions(ConfigOptions):
    """What `config show` takes."""

    origin: Annotated[bool, typer.Option("--origin", help="Say of every setting where it comes from.")] = False
    json: Json = False
    no_color: NoColor = False


def config_show(options: ConfigShowOptions, program: Program) -> int:
    """Show the settings that hold in this workspace."""
    import msgspec

    from skills_runtime.cli.render.answer import write_text
    from skills_runtime.cli.render.text import one_line
    from skills_runtime.cli.settings import resolve_settings
    from skills_runtime.config import explain, snapshot

    resolved = resolve_settings(options, program=program.name)
    for notice in resolved.notices:
        sys.stderr.write(f"notice: {one_line(notice)}\n")
    if options.json:
        origins: list[dict[str, str]] = [asdict(one) for one in explain(resolved)]
        settings = resolved.settings.model_dump(mode="json")
        write_text(msgspec.json.format(msgspec.json.encode(origins if options.origin else settings)).decode() + "\n")
    elif options.origin:
        from skills_runtime.cli.render.tables import show_origins

        show_origins(explain(resolved), no_color=options.no_color)
    else:
        write_text(snapshot(resolved.settings))
    return 0


COMMAND = Command(
    options=ConfigShowOptions,
    work=config_show,
    examples=("config show --origin", "config show --config kgent.yaml --set run.max_steps=5"),
)
