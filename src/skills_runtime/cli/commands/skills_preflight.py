"""skills preflight: can the settings of skills work?"""

import sys
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from skills_runtime.cli.options import SkillSettingsOptions
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class SkillsPreflightOptions(SkillSettingsOptions):
    """What `skills preflight` takes."""

    pretty: Annotated[
        bool,
        typer.Option(
            "--pretty",
            help="Write the JSON with line breaks. Exit code: 0 nothing is wrong, 10 errors, 12 warnings only.",
        ),
    ] = False


def skills_preflight(options: SkillsPreflightOptions, program: Program) -> int:
    """Judge the settings of skills alone; nothing is searched."""
    from pathlib import Path

    from skills_runtime.cli.render.skill_scans import preflight_answer, write_json
    from skills_runtime.cli.skill_settings import CLEAN, SETTINGS_WRONG, WARNED, looked_at

    found = looked_at(options, program=program.name)
    whole = str(Path(options.workspace_root or ".").expanduser().absolute())
    write_json(preflight_answer(found, replace(options, workspace_root=whole)), sys.stdout, pretty=options.pretty)
    if any(one.severity == "error" for one in found.issues):
        return SETTINGS_WRONG
    return WARNED if found.issues else CLEAN


COMMAND = Command(
    options=SkillsPreflightOptions,
    work=skills_preflight,
    examples=("skills preflight --pretty", "skills preflight --config runtime.yaml --no-dotenv"),
)
