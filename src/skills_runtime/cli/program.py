"""What a command is made of: options as one frozen value, work that gives an exit code, two examples.

Knows typer and nothing of runs.
"""

import dataclasses
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_type_hints

import typer

from skills_runtime.cli.usage import ExampleCommand, Misuse

Options = TypeVar("Options")


@dataclass(slots=True)
class Program:
    """The program somebody called: under which name, and whether they want to see tracebacks."""

    name: str
    debug: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Command(Generic[Options]):
    """One command; `options` is a dataclass whose fields are annotated with typer's arguments and options."""

    options: type[Options]
    work: Callable[[Options, Program], int]
    examples: tuple[str, str]
    """Command lines behind the name of the program."""
    page: type[ExampleCommand] = ExampleCommand
    """How its command line is read and its help written."""


@dataclass(frozen=True, slots=True)
class Group:
    """Commands under one name, and groups of them."""

    text: str
    examples: tuple[str, str]
    commands: "Mapping[str, Command[Any] | Group]"


class PipeClosed(Exception):
    """Whoever read our output has gone; nothing is wrong and there is nobody to tell."""


def attach(app: typer.Typer, name: str, command: Command[Any]) -> None:
    """Offer a command under a name."""
    app.command(name, cls=command.page, help=inspect.getdoc(command.work), epilog="\n".join(command.examples))(
        _callback(command)
    )


def _callback(command: Command[Any]) -> Callable[..., int]:
    """A function as typer wants it: one parameter for each option."""

    def call(context: typer.Context, **values: Any) -> int:
        try:
            code = command.work(command.options(**values), context.obj)
            sys.stdout.flush()
        except Misuse as error:
            error.ctx = context
            raise
        except BrokenPipeError as error:
            raise PipeClosed from error  # typer would make a failed run of it
        return code

    hints = get_type_hints(command.options, include_extras=True)
    own = command.options.__annotations__
    fields = {
        field.name: field for field in sorted(dataclasses.fields(command.options), key=lambda one: one.name not in own)
    }
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_default(field), annotation=hints[name])
        for name, field in fields.items()
    ]
    call.__annotations__ = {"context": typer.Context, **{name: hints[name] for name in fields}}
    call.__signature__ = inspect.Signature([context, *parameters])  # pyright: ignore[reportFunctionMemberAccess]
    return call


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
