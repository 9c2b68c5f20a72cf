"""Commands as typer knows them, with our help pages: what a command does, two examples, then usage and options.

Knows typer and nothing of runs.
"""

import sys
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from skills_runtime.cli.errors import Misuse, PipeClosed

_WITHOUT_OVERLAY = "run the command in a copy of the workspace, for example a `git worktree`, and"
REMOVED = {
    "sandbox diff": f"{_WITHOUT_OVERLAY} compare the two with `git diff`",
    "sandbox commit": f"{_WITHOUT_OVERLAY} merge what it wrote",
    "sandbox discard": f"{_WITHOUT_OVERLAY} delete the copy",
}
"""Commands that are gone, and what to do instead."""


def create_app(name: str | None = None, text: str = "", *examples: str) -> typer.Typer:
    """Create a group of commands; without a name its commands belong to the program itself."""
    return typer.Typer(
        name=name,
        cls=ExampleGroup,
        help=text,
        epilog="\n".join(examples),
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )


class ExampleCommand(TyperCommand):
    """A command whose epilog holds its examples."""

    def invoke(self, ctx: Any) -> Any:
        """Call the command; usage errors learn where they happened, and output is written before it is over."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except Misuse as error:
            error.ctx = ctx
            raise
        except BrokenPipeError as error:
            raise PipeClosed from error  # typer would make a failed run of it
        return code

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        _write_beginning(self.help, self.epilog, ctx, formatter)
        self.format_usage(ctx, formatter)
        self.format_options(ctx, formatter)


class PairsCommand(ExampleCommand):
    """A command with an option of two words, `--setenv NAME VALUE`, which typer has no type for."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join each such option with its two words to `--setenv=NAME=VALUE`; what follows `--` is left alone."""
        words, rest = list[str](), list(args)
        while rest and rest[0] != "--":
            word = rest.pop(0)
            if word == "--setenv" and len(rest) > 1 and "=" not in rest[0]:
                name, value = rest.pop(0), rest.pop(0)
                word = f"{word}={name}={value}"
            words.append(word)
        return super().parse_args(ctx, words + rest)


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
