"""Which values of an environment are secrets, and which are worth looking for."""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit

from skills_runtime.safety.redaction.text import MARK

_SHORTEST = 4
_SHORTEST_OF_ONE_KIND = 8
_NO_SECRETS = frozenset(
    ("password", "passwort", "changeme", "postgres", "postgresql", "localhost", "disabled", "undefined")
)
"""Longer words that people put where a secret belongs, and that ordinary text is full of."""
_SECRET_NAME_ENDS = ("password", "passwd", "passphrase", "apikey", "_pass", "_pwd", "_pat")
_PATH = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:)[/\\].*"
    r"|/(?:home|Users|root|etc|usr|var|run|tmp|opt|mnt|srv|dev|proc|private|Volumes|app|workspace|secrets)(?:/.*)?"
    r"|/(?:[\w.@ -]+/)*[\w@ -]+\.[A-Za-z0-9]{1,8}"
)


def worth_hiding(value: str) -> bool:
    """Whether the value can be told from ordinary text.

    It cannot if it is shorter than four characters, or shorter than eight and nothing but digits or nothing but
    letters (`true`, `8080`, `admin`), or one of a few longer words: taking those out would tear text to pieces and hide
    nothing. Nor can what is part of the mark itself.
    """
    if len(value) < _SHORTEST or value in MARK or value.lower() in _NO_SECRETS:
        return False
    one_kind = value.isalpha() or value.isdigit() or len(set(value)) == 1
    return not (one_kind and value.isascii() and len(value) < _SHORTEST_OF_ONE_KIND)


def secrets_of(environment: Mapping[str, str], named: Iterable[str] = ()) -> frozenset[str]:
    """The secret values of an environment: of the variables that are named, and of those whose own name says so.

    Of a URL with a password the password is one more, as it is and decoded. A path to a secret is none.
    """
    from skills_runtime.config.secrets import is_secret_name

    wanted = set(named)
    values = {
        value.strip()
        for name, value in environment.items()
        if name in wanted or is_secret_name(name) or name.lower().endswith(_SECRET_NAME_ENDS)
    }
    passwords = {password for value in environment.values() for password in _passwords_of(value.strip())}
    return frozenset(value for value in values | passwords if worth_hiding(value) and not _PATH.fullmatch(value))


def _passwords_of(value: str) -> tuple[str, ...]:
    if "://" not in value or "@" not in value:
        return ()
    try:
        password = urlsplit(value).password
    except ValueError:
        return ()
    return (password, unquote(password)) if password else ()
