"""The entry point of `skills-runtime`, `skills-runtime-sdk` and `kgent`."""

import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from shutil import which
from typing import Annotated, NoReturn

import typer
from typer.main import get_command

from skills_runtime import __version__
from skills_runtime.cli.language import use_language
from skills_runtime.cli.marks import ENCODE_ERRORS, register_error_handler
from skills_runtime.cli.program import Program, create_app, run_guarded

NAMES = ("skills-runtime", "skills-runtime-sdk", "kgent")
COMMAND_GROUPS = (
    ("init", "app", ("init",)),
    ("doctor", "app", ("doctor",)),
    ("run", "app", ("run", "chat")),
    ("demo", "app", ("demo",)),
    ("skills", "app", ("skills",)),
    ("runs", "app", ("runs",)),
    ("approvals", "app", ("approvals",)),
    ("serve", "app", ("serve", "studio")),
    ("config", "app", ("config",)),
    ("policy", "app", ("policy",)),
    ("sandbox", "app", ("sandbox",)),
    ("executions", "app", ("executions",)),
    ("serve", "keys", ("keys",)),
    ("runtime", "app", ("runtime",)),
    ("runs", "ledger", ("ledger",)),
    ("completion", "app", ("completion", "completion-words")),
    ("runs", "shortcuts", ("ls", "verify", "transcript")),
)
"""Each group of commands: module, attribute and command names, in the order of the help page."""


def main() -> NoReturn:
    """Run the program and exit the process."""
    open_missing_streams()
    register_error_handler()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # escape characters that the terminal cannot show
            stream.reconfigure(errors=ENCODE_ERRORS)
    called = Path(sys.argv[0])
    name = called.name if called.name in NAMES else NAMES[0]
    sys.exit(run_program(sys.argv[1:], name=name, call=find_call(called, name)))


def find_call(called: Path, name: str) -> str:
    """Return what to type to call the program again: its name if that is on the PATH, or its path."""
    if called.name != name:
        return name
    on_path = which(name)
    with suppress(OSError):
        if on_path is not None and Path(on_path).samefile(called):
            return name
    with suppress(FileNotFoundError):  # the current directory may be gone
        near = os.path.relpath(called)
        return shlex.quote(str(called.absolute()) if near.startswith("..") else near)
    return shlex.quote(str(called))


def run_program(arguments: Sequence[str], *, name: str = NAMES[0], call: str = "") -> int:
    """Run one command line and return its exit code; `call` is what to type to call the program again."""
    use_language(None)
    program = Program(call or name)
    command_name = next(
        (argument for argument in arguments if not argument.startswith("-") or argument == "--version"), None
    )
    typer_command = get_command(build(command_name))
    return run_guarded(
        lambda: typer_command.main(list(arguments), prog_name=name, standalone_mode=False, obj=program) or 0, program
    )


def build(command_name: str | None = None) -> typer.Typer:
    """Build the program with all commands, or only with the group of the called one.

    A command then starts without importing the modules of the others.
    """
    app = create_app(
        None,
        "Run agents with skills, approvals, a sandbox and an auditable log.",
        "demo",
        'run "Summarize notes.md in three sentences"',
    )
    app.callback()(_global_options)
    groups = (
        ()
        if command_name == "--version"
        else [group for group in COMMAND_GROUPS if command_name in group[2]] or COMMAND_GROUPS
    )
    for module, name, _ in groups:
        app.add_typer(getattr(import_module(f"skills_runtime.cli.{module}"), name))
    return app


def open_missing_streams() -> None:
    """Open missing standard streams, or the next opened file would get their descriptors."""
    for number in range(3):
        with suppress(OSError):
            os.fstat(number)
            continue
        # `open` returns the lowest free descriptor, which is this one: those below it are open.
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # noqa: FBT003 - it has no name
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def _show_version(requested: bool) -> None:  # noqa: FBT001 - typer calls it
    if requested:
        print(__version__)
        raise typer.Exit


def _global_options(
    context: typer.Context,
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks for errors.")] = False,
) -> None:
    del version
    context.obj.debug = debug
