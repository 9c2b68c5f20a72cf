"""Gives up rights in the one order that works, then becomes the command; without all of it nothing is started."""

import json
import os
import resource
import signal
import sys
from typing import Any, NoReturn

from . import kernel

SPECIFICATION = 3
"""The descriptor from which the specification is read."""
HIGHEST = 1 << 16
REFUSED = 126
NOT_FOUND = 127


def main() -> NoReturn:
    """Become the command that the specification names."""
    with open(SPECIFICATION, encoding="utf-8") as file:
        specification: dict[str, Any] = json.load(file)
    os.closerange(SPECIFICATION, max(HIGHEST, os.sysconf("SC_OPEN_MAX")))
    argv = [_raw(word) for word in specification["argv"]]
    environment = {_raw(name): _raw(value) for name, value in specification["environment"].items()}
    try:
        _give_up(specification)
    except OSError as error:
        _say(f"the sandbox could not be put up: {error}")
        os._exit(REFUSED)
    try:
        os.execvpe(argv[0], argv, environment)
    except OSError as error:
        _say(f"{os.fsdecode(argv[0])}: {error.strerror}")
        os._exit(NOT_FOUND)


def _give_up(specification: "dict[str, Any]") -> None:
    kernel.control(kernel.SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    os.chdir(_raw(specification["cwd"]))
    for name, value in specification["limits"].items():
        resource.setrlimit(getattr(resource, name), (value, value))
    kernel.refuse_privileges()
    kernel.drop_capabilities()
    kernel.confine(specification["reading"], specification["writing"])
    # Last: the filter refuses some of the calls above.
    kernel.filter_calls(_raw(specification["filter"]))
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def _raw(text: str) -> bytes:
    """The bytes that travelled as characters of the same number, since JSON has no bytes."""
    return text.encode("latin-1")


def _say(text: str) -> None:
    sys.stderr.write(f"skills-runtime: {text}\n")
    sys.stderr.flush()
