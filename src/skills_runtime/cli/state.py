"""What this machine remembers between commands: keys and the ledger, in the user's state directory."""

import os
import pwd
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.config import state_home
from skills_runtime.errors import ValidationFailed
from skills_runtime.ledger import Ledger, RunIndex, open_ledger
from skills_runtime.runs import LogPorts


def log_ports() -> LogPorts:
    """Keys, clock and disk of this machine; what is written down has no secrets."""
    from skills_runtime.agent import run_ports as ports

    return ports.log_ports()


def this_ledger() -> Ledger:
    """The index of every run this machine has seen, and the messages to them; to be used in a `with` block."""
    return open_ledger(state_home(), clock=SystemClock(), ids=RandomIds())


@contextmanager
def known_runs() -> Generator[RunIndex]:
    """The index alone."""
    with this_ledger() as ledger:
        yield ledger.index


def checked_text(text: str, option: str) -> str:
    """Text somebody typed, or a refusal of bytes that are no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValidationFailed(f"what `{option}` was given is not UTF-8 text", hint="check its encoding") from None
    return text


def checked_path(text: str, *, option: str) -> Path:
    """A path somebody typed, or a refusal of what can be none."""
    if not checked_text(text, option).strip() or "\0" in text:
        raise ValidationFailed(f"`{option}` does not name a usable path", hint="give the path of a file or directory")
    return Path(text)


def login_name() -> str:
    """Who decides here, as the system knows them; variables of the environment could say anything."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"uid {number}"


def shown_path(path: Path) -> str:
    """A path as somebody who stands here would type it."""
    near = os.path.relpath(path)
    return str(path) if near.startswith("..") else near
