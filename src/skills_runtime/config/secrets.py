"""Detect secrets by name or by shape.

Pure: it never stores or shows the text.
"""

import re
from collections.abc import Sequence
from urllib.parse import parse_qsl, urlsplit

HIDDEN = "<hidden>"
SECRET_HINT = "put it into an environment variable and name that variable with `llm.api_key_env`"

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:api_?key|access_?key|private_?key|secret_?key|auth_?key|token|secret|password|passwd|passphrase"
    r"|authorization|credentials?|bearer)$"
)
_CAMEL_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SIMPLE_WORD = re.compile(r"[A-Za-z0-9_-]{1,255}\Z")
_WHOLE_URL_WITH_PASSWORD = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://[^/\s@:]*:[^/\s@]+@\S*\s*\Z")

# Every alternative begins at a word's edge, so that a long run of characters is looked at once, not once per character.
_KEY_SHAPED = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-(?:[A-Za-z0-9_-]{16,}|(?=[A-Za-z_-]{0,16}[0-9])[A-Za-z0-9_-]{8,})"
    r"|gh[pousr]_[A-Za-z0-9]{16,}"
    r"|github_pat_[A-Za-z0-9_]{16,}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}"
    r"|xox[abeprs]-[A-Za-z0-9-]{8,}"
    r"|AIza[0-9A-Za-z_-]{20,}"
    r"|(?<![_-])eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?"
    r"|-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY"
    r")"
)


def is_secret_name(name: str) -> bool:
    """Return whether a setting of this name holds a secret itself, as `api_key` does and `api_key_env` does not."""
    plain = _CAMEL_BOUNDARY.sub("_", name).lower().replace("-", "_")
    return _SECRET_NAME.search(plain) is not None


def is_key_shaped(text: str) -> bool:
    """Return whether the text contains something like a key, a token or a password in a URL."""
    return _KEY_SHAPED.search(text) is not None or _WHOLE_URL_WITH_PASSWORD.match(text) is not None


def is_variable_name(text: str) -> bool:
    """Return whether the text can be the name of an environment variable."""
    return _VARIABLE_NAME.match(text) is not None and not is_key_shaped(text)


def is_variable_field(name: str) -> bool:
    """Return whether a setting of this name holds the name of an environment variable."""
    return name.lower().endswith("_env")


def hide_secrets(text: str) -> str:
    """Return the text without anything that looks like a key."""
    return HIDDEN if _WHOLE_URL_WITH_PASSWORD.match(text) else _KEY_SHAPED.sub(HIDDEN, text)


def url_has_credentials(url: str) -> bool:
    """Return whether the URL contains a user, a password or a key in its query."""
    parts = urlsplit(url)
    has_secret_parameter = any(is_secret_name(name) or name.lower() == "key" for name, _ in parse_qsl(parts.query))
    return has_secret_parameter or "@" in parts.netloc


def find_secret_problem(path: Sequence[str | int], value: object) -> str:
    """Return why the value is not allowed at this path of a configuration, or an empty text; never repeats it."""
    names = [part for part in path if isinstance(part, str)]
    last = names[-1] if names else ""
    if is_variable_field(last) and isinstance(value, str):
        # A single word is not a server address; the check of the skill settings reports it.
        is_harmless = last == "dsn_env" and _SIMPLE_WORD.match(value) is not None and not is_key_shaped(value)
        if is_variable_name(value) or is_harmless:
            return ""
        return "is not the name of an environment variable; put the key into one and give only its name here"
    if isinstance(value, str) and is_key_shaped(value):
        return f"holds what looks like a key; {SECRET_HINT}"
    holds_something = isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""
    if holds_something and any(is_secret_name(name) for name in names):
        return f"holds a secret; {SECRET_HINT}"
    return ""
