"""The program behind `skills-runtime`, `skills-runtime-sdk` and `kgent`: its commands and its entry point."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from typer.main import get_command

from skills_runtime import __version__
from skills_runtime.cli import (
    approvals,
    config,
    ledger,
    policy,
    run,
    runs,
    runs_control,
    runtime,
    sandbox,
    serve,
    skills,
    skills_install,
    skills_scan,
)
from skills_runtime.cli.errors import Program, guarded
from skills_runtime.cli.help import create_app

runs.app.add_typer(runs_control.app)
skills.app.add_typer(skills_install.app)
skills.app.add_typer(skills_scan.app)

NAMES = ("skills-runtime", "skills-runtime-sdk", "kgent")
_NOUNS = (
    *(run.app, serve.app, runs.top),
    *(runs.app, approvals.app, config.app, policy.app, sandbox.app),
    *(skills.app, runtime.app, serve.keys, ledger.app),
)
"""In the order of the help page; those without a name are commands of the program itself."""


def main() -> NoReturn:
    """Run the program and leave the process."""
    complete_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that cannot show a character gets its number
            stream.reconfigure(errors="backslashreplace")
    called = Path(sys.argv[0]).name
    sys.exit(run_program(sys.argv[1:], name=called if called in NAMES else NAMES[0]))


def run_program(arguments: Sequence[str], *, name: str = NAMES[0]) -> int:
    """The exit code of one command line."""
    program = Program(name)
    command = get_command(build())
    return guarded(
        lambda: command.main(list(arguments), prog_name=name, standalone_mode=False, obj=program) or 0, program
    )


def build() -> typer.Typer:
    """The program with all its commands."""
    app = create_app(None, "Skills in, an auditable run out.", "demo", 'run "Summarise notes.md in three sentences"')
    app.callback()(_global_options)
    for noun in _NOUNS:
        app.add_typer(noun)
    return app


def complete_streams() -> None:
    """Open what is missing, or whatever is opened next would get its number and be taken for it."""
    for number in range(3):
        with suppress(OSError):
            os.fstat(number)
            continue
        # The lowest number that is free is this one: those below it are taken.
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # noqa: FBT003 - it has no name
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it
    if wanted:
        print(__version__)
        raise typer.Exit


def _global_options(
    context: typer.Context,
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Say the version and leave.", callback=_show_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    del version
    context.obj.debug = debug
