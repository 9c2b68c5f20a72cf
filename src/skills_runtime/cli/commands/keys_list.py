"""keys list: the keys there are, what they may do, and when they were last used."""

import sys
from dataclasses import dataclass

from skills_runtime.cli.options import Json
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class KeysListOptions:
    """What `keys list` takes."""

    json: Json = False


def keys_list(options: KeysListOptions, program: Program) -> int:
    """List the keys: their names, their scopes, when they were last used or revoked."""
    from skills_runtime.cli.api_keys import all_keys
    from skills_runtime.cli.render.api_keys import show_keys, write_keys

    del program
    (write_keys if options.json else show_keys)(all_keys(), sys.stdout)
    return 0


COMMAND = Command(options=KeysListOptions, work=keys_list, examples=("keys list", "keys list --json"))
