"""keys create: a new key for programs that reach the service from elsewhere."""

import sys
from dataclasses import dataclass, field
from typing import Annotated

import typer

from skills_runtime.cli.options import Json
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class KeysCreateOptions:
    """What `keys create` takes."""

    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is for, such as `ci`.")]
    scope: Annotated[
        list[str],
        typer.Option("--scope", metavar="SCOPE", help="read, run, approve, execute or admin; repeatable (read)."),
    ] = field(default_factory=list[str])
    json: Json = False


def keys_create(options: KeysCreateOptions, program: Program) -> int:
    """Make a key and show it once; only a digest of it is kept."""
    from skills_runtime.cli.api_keys import make_key
    from skills_runtime.cli.render.api_keys import show_new, write_new

    del program
    key, text = make_key(options.name, tuple(options.scope) or ("read",))
    (write_new if options.json else show_new)(key, text, sys.stdout)
    return 0


COMMAND = Command(
    options=KeysCreateOptions,
    work=keys_create,
    examples=("keys create ci --scope execute", "keys create board --scope read --scope approve"),
)
