"""Help pages: what a command does, two examples, and only then usage and options."""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

_WITHOUT_OVERLAY = "run the command in a copy of the workspace, for example a `git worktree`, and"
REMOVED = {
    "sandbox diff": f"{_WITHOUT_OVERLAY} compare the two with `git diff`",
    "sandbox commit": f"{_WITHOUT_OVERLAY} merge what it wrote",
    "sandbox discard": f"{_WITHOUT_OVERLAY} delete the copy",
}
"""Commands that are gone, and what to do instead."""


class Misuse(typer.TyperException):
    """The command line itself makes no sense."""

    exit_code = 2

    def __init__(self, message: str, context: typer.Context | None = None) -> None:
        super().__init__(message)
        self.ctx = context


class ExampleCommand(TyperCommand):
    """A command whose epilog holds its examples."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        _write_beginning(self.help, self.epilog, ctx, formatter)
        self.format_usage(ctx, formatter)
        self.format_options(ctx, formatter)


class ExampleGroup(TyperGroup):
    """A group of commands, with examples in its epilog too."""

    def get_help_option(self, ctx: Any) -> Any:
        """The help option, with a value also where it is not given: typer needs pydantic to read no value."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is called; one that was removed is answered with what to do instead."""
        path = " ".join([*ctx.command_path.split()[1:], args[0]])
        if path in REMOVED:
            raise Misuse(f"`{path}` was removed: {REMOVED[path]}", ctx)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        _write_beginning(self.help, self.epilog, ctx, formatter)
        self.format_usage(ctx, formatter)
        self.format_options(ctx, formatter)


def _write_beginning(text: str | None, examples: str | None, context: Any, formatter: Any) -> None:
    formatter.write_text(text or "")
    formatter.write_paragraph()
    program = context.find_root().info_name
    formatter.write("Examples:\n")
    for line in (examples or "").splitlines():
        formatter.write(f"  {program} {line}\n")  # not wrapped: an example is there to be copied
    formatter.write_paragraph()
