"""`skills`: judge the settings of skills, and scan skills for problems and for harm."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from skills_runtime.cli.errors import Misuse
from skills_runtime.cli.help import ExampleCommand, create_app
from skills_runtime.cli.options import Assignments, ConfigFiles, ConfigOptions, Json, WorkspaceRoot

app = create_app()

_PREFLIGHT = "skills preflight --pretty\nskills preflight --config runtime.yaml --no-dotenv"
NoDotenv = Annotated[bool, typer.Option("--no-dotenv", help="Do not read a `.env` file.")]


@app.command("validate-config", cls=ExampleCommand, epilog=_PREFLIGHT)
@app.command("preflight", cls=ExampleCommand, epilog=_PREFLIGHT)
def skills_preflight(
    context: typer.Context,
    *,
    pretty: Annotated[
        bool,
        typer.Option(
            "--pretty",
            help="Write the JSON with line breaks. Exit code: 0 nothing is wrong, 10 errors, 12 warnings only.",
        ),
    ] = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
    no_dotenv: NoDotenv = False,
) -> int:
    """Judge the settings of skills alone; nothing is searched."""
    from skills_runtime.cli.skill_scan import CLEAN, SETTINGS_WRONG, WARNED, looked_at, preflight_answer, write_json

    given = ConfigOptions(workspace_root, config, assignments)
    found = looked_at(given, no_dotenv=no_dotenv, program=context.obj.name)
    whole = str(Path(workspace_root or ".").expanduser().absolute())
    write_json(preflight_answer(found, whole), sys.stdout, pretty=pretty)
    if any(one.severity == "error" for one in found.issues):
        return SETTINGS_WRONG
    return WARNED if found.issues else CLEAN


@app.command(
    "scan", cls=ExampleCommand, epilog="skills scan --workspace-root . --pretty\nskills scan --security ./my-skill"
)
def skills_scan(
    context: typer.Context,
    *,
    pretty: Annotated[
        bool,
        typer.Option(
            "--pretty",
            help="Write the JSON with line breaks. Exit code: 0 nothing is wrong, 11 errors, 12 warnings only.",
        ),
    ] = False,
    security: Annotated[
        bool,
        typer.Option(
            "--security",
            help="Look at PATH for what harms you. Exit code: 0 clean, 1 something was found.",
        ),
    ] = False,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="With `--security`: skills, or directories of them.")
    ] = None,
    as_json: Json = False,
    sarif: Annotated[bool, typer.Option("--sarif", help="With `--security`: write SARIF for code hosts.")] = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
    no_dotenv: NoDotenv = False,
) -> int:
    """Search every source, and report all skills and all problems as JSON."""
    from skills_runtime.cli.skill_scan import CLEAN, SKILLS_WRONG, WARNED, scanned, write_json

    if security:
        return _scan_for_harm(paths or [], as_json=as_json, sarif=sarif)
    if paths or sarif:
        raise Misuse("a PATH and `--sarif` need `--security`")
    given = ConfigOptions(workspace_root, config, assignments)
    report = scanned(given, no_dotenv=no_dotenv, program=context.obj.name)
    write_json(report, sys.stdout, pretty=pretty)
    if report.errors:
        return SKILLS_WRONG
    return WARNED if any(one.severity == "warning" for one in report.warnings) else CLEAN


def _scan_for_harm(paths: list[str], *, as_json: bool, sarif: bool) -> int:
    from skills_runtime.cli.inputs import checked_path
    from skills_runtime.cli.skill_scan import security_reports, show_security, worst, write_sarif, write_security

    if as_json and sarif:
        raise Misuse("`--json` and `--sarif` exclude each other")
    if not paths:
        raise Misuse("`--security` needs the PATH of a skill, or of a directory of skills")
    scanned = security_reports(checked_path(path, option="PATH") for path in paths)
    write = write_sarif if sarif else write_security if as_json else show_security
    write(scanned, sys.stdout)
    return 0 if worst(scanned) == "clean" else 1
