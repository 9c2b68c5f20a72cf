"""Help pages: what a command does, two examples, and only then usage and options."""

from typing import Any

from typer.core import TyperCommand, TyperGroup


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
