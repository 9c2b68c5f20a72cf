"""The three streams of the process: where one is missing, something that says nothing and takes everything."""

import os
import sys
from contextlib import suppress


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
