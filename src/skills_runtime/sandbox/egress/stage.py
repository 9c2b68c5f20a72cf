"""The command line of a sandbox with a network: a small program first, which becomes the command.

Pure but for a look at which interpreters there are. The program itself travels as an input of the fence, so that the
command line stays short enough to be read.
"""

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from skills_runtime.ports import Egress
from skills_runtime.sandbox.egress.handover import PROXY_PORT
from skills_runtime.sandbox.egress.policy import EgressPolicy, allow_rule, deny_rule
from skills_runtime.sandbox.inside import network as inside

INTERPRETERS = ("/usr/bin/python3", "/usr/local/bin/python3")
MAX_SOURCE = 65536

_BOOT = "import os;s=os.read({number},{most});os.close({number});exec(s)"


def staged(command: Sequence[str], interpreter: str, *, source: int, port: int = PROXY_PORT) -> tuple[str, ...]:
    """The command line with the small program first: it reads itself from `source`, and talks on the next number."""
    boot = _BOOT.format(number=source, most=MAX_SOURCE)
    return (interpreter, "-I", "-S", "-c", boot, str(source + 1), str(port), *command)


@cache
def stage_source() -> bytes:
    """The small program."""
    return Path(inside.__file__).read_bytes()


def interpreter_for(home: Path | None) -> str | None:
    """A Python that is there inside as well; `home` is where that of the runtime lives, if it is."""
    own = () if home is None else (f"{home}/bin/python3",)
    return next((path for path in (*INTERPRETERS, *own) if os.access(path, os.X_OK)), None)


def policy_of(egress: Egress) -> EgressPolicy:
    """The rules that people wrote; raises `ValidationFailed` for one that cannot be used."""
    return EgressPolicy(
        allow=(
            *(allow_rule(text) for text in egress.allow),
            *(allow_rule(text, private="allowed") for text in egress.allow_private),
        ),
        deny=tuple(deny_rule(text) for text in egress.deny),
    )
