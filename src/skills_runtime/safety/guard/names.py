"""Names of programs and hosts, as words of a command write them."""

import re

from skills_runtime.safety.guard.programs import SYSTEM_DIRECTORIES

_URL = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]{0,20}://(?:[^/?#\s]{0,200}@)?(\[[0-9a-fA-F:]+\]|[\w.-]+)")
_LOGIN = re.compile(r"^[\w.-]+@([\w.-]+):")


def program_name(word: str) -> str:
    """What a program is called: a path into a system directory is as good as the name alone.

    Any other path stays a path, because `./git` is not the `git` that somebody has allowed.
    """
    directory, slash, name = word.rpartition("/")
    return name if slash and directory in SYSTEM_DIRECTORIES else word


def hosts_of(text: str) -> list[str]:
    """The hosts that a word names by an address or a login."""
    found = [match.strip("[]").lower() for match in _URL.findall(text)]
    login = _LOGIN.match(text)
    return [*found, login[1].lower()] if login else found
