"""skills scan: which skills are there, and what is wrong with any of them?"""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.options import Json, SkillSettingsOptions
from skills_runtime.cli.program import Command, Misuse, Program


@dataclass(frozen=True, kw_only=True)
class SkillsScanOptions(SkillSettingsOptions):
    """What `skills scan` takes."""

    pretty: Annotated[
        bool,
        typer.Option(
            "--pretty",
            help="Write the JSON with line breaks. Exit code: 0 nothing is wrong, 11 errors, 12 warnings only.",
        ),
    ] = False
    security: Annotated[
        bool,
        typer.Option(
            "--security",
            help="Look at PATH for what harms you. Exit code: 0 clean, 1 something was found.",
        ),
    ] = False
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="With `--security`: skills, or directories of them.")
    ] = None
    json: Json = False
    sarif: Annotated[bool, typer.Option("--sarif", help="With `--security`: write SARIF for code hosts.")] = False


def skills_scan(options: SkillsScanOptions, program: Program) -> int:
    """Search every source, and report all skills and all problems as JSON."""
    if options.security:
        return _security(options)
    if options.paths or options.sarif:
        raise Misuse("a PATH and `--sarif` need `--security`")
    from skills_runtime.cli.render.skill_scans import write_json
    from skills_runtime.cli.skill_scanning import scanned
    from skills_runtime.cli.skill_settings import CLEAN, SKILLS_WRONG, WARNED

    report = scanned(options, program=program.name)
    write_json(report, sys.stdout, pretty=options.pretty)
    if report.errors:
        return SKILLS_WRONG
    return WARNED if any(one.severity == "warning" for one in report.warnings) else CLEAN


def _security(options: SkillsScanOptions) -> int:
    from skills_runtime.cli.machine import checked_path
    from skills_runtime.cli.render.security import show_security, write_sarif, write_security
    from skills_runtime.cli.skill_security import exit_code, security_reports

    if options.json and options.sarif:
        raise Misuse("`--json` and `--sarif` exclude each other")
    if not options.paths:
        raise Misuse("`--security` needs the PATH of a skill, or of a directory of skills")
    scanned = security_reports(checked_path(path, option="PATH") for path in options.paths)
    write = write_sarif if options.sarif else write_security if options.json else show_security
    write(scanned, sys.stdout)
    return exit_code(scanned)


COMMAND = Command(
    options=SkillsScanOptions,
    work=skills_scan,
    examples=("skills scan --workspace-root . --pretty", "skills scan --security ./my-skill"),
)
