"""keys revoke: a key that is worth nothing from now on."""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class KeysRevokeOptions:
    """What `keys revoke` takes."""

    key: Annotated[str, typer.Argument(metavar="KEY", help="The name or the id of a key.")]


def keys_revoke(options: KeysRevokeOptions, program: Program) -> int:
    """Revoke a key; a service that runs refuses it at once."""
    from skills_runtime.cli.api_keys import revoke_key

    del program
    key = revoke_key(options.key)
    sys.stdout.write(f"Revoked {key.name} ({key.id}).\n")
    return 0


COMMAND = Command(options=KeysRevokeOptions, work=keys_revoke, examples=("keys revoke ci", "keys revoke 0a1b2c3d4e5f"))
