"""JSON documents with their strings changed in place: every other byte stays as it was."""

import json
import re
from collections.abc import Callable, Collection

from skills_runtime.safety.redaction.shapes import is_secret_member
from skills_runtime.safety.redaction.text import MARK

_TOKEN = re.compile(rb'("(?:[^"\\]++|\\.)*+")(\s*+:\s*+)?|-?[0-9][0-9.eE+-]*+', re.DOTALL)
_QUOTED_MARK = json.dumps(MARK).encode()

Hide = Callable[[str], str]


def rewritten(data: bytes, hide: Hide, numbers: Collection[str]) -> bytes:
    """The document with secrets taken out of its strings and keys; the same object if it has none."""
    changed = _TOKEN.sub(_Rewriting(hide, numbers).token, data)
    return data if changed == data else changed


def new_name(name: str, hide: Hide, names: dict[str, str]) -> str:
    """The name without secrets; two names stay two names, and one name stays one."""
    hidden = hide(name)
    if hidden is name:
        return name
    return names.setdefault(name, f"{hidden}{len(names) + 1}" if names else hidden)


class _Rewriting:
    """One pass over one document."""

    def __init__(self, hide: Hide, numbers: Collection[str]) -> None:
        self._hide = hide
        self._numbers = numbers
        self._names: dict[str, str] = {}
        self._name = ""
        self._value_starts = -1

    def token(self, token: re.Match[bytes]) -> bytes:
        """What is to stand in the place of one string or number."""
        raw, colon = token[1], token[2]
        if raw is None:
            return _QUOTED_MARK if token[0].decode() in self._numbers else token[0]
        try:
            text = json.loads(raw)
        except ValueError:  # it cannot be read, so nobody can say that it holds no secret
            return _QUOTED_MARK + (colon or b"")
        if colon:
            self._name, self._value_starts = text, token.end()
            new = new_name(text, self._hide, self._names)
        elif token.start() == self._value_starts and is_secret_member(self._name, text):
            new = MARK
        else:
            new = self._hide(text)
        return token[0] if new is text else _quoted(new) + (colon or b"")


def _quoted(text: str) -> bytes:
    try:
        return json.dumps(text, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(text).encode()
