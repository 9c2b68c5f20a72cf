"""The address of a database, which holds a password: it is used, and never told.

The settings name the variable that holds it; messages name that variable instead of the address.
"""

import re
from urllib.parse import unquote, urlsplit

import msgspec

from skills_runtime.text import one_line

_PASSWORD = re.compile(r"(?i)\bpassword\s*=\s*('(?:[^'\\]|\\.)*'|[^\s&]+)")
_SHOWN_CHARS = 200
_HIDDEN = "***"


class Dsn(msgspec.Struct, frozen=True):
    """An address, and the variable it was read from."""

    variable: str
    text: str

    def __repr__(self) -> str:
        return f"Dsn({self.variable!r})"

    def told(self, text: str) -> str:
        """What a server or a library said, on one line and without the address or the password in it."""
        for secret in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(secret, _HIDDEN)
        return one_line(text)[:_SHOWN_CHARS]

    def _secrets(self) -> set[str]:
        found = {self.text, *(match.strip("'") for match in _PASSWORD.findall(self.text))}
        for text in (self.text, self.text.rpartition("@")[0]):
            try:
                found.add(urlsplit(text).password or "")
            except ValueError:
                continue
        credentials = self.text.partition("://")[2].rpartition("@")[0]  # also of an address nobody can parse
        found |= {credentials, credentials.partition(":")[2]}
        return {each for one in found if one for each in (one, unquote(one))}
