"""Takes secrets out of text, plain data and log lines."""

from collections.abc import Iterable
from typing import Any, cast

from skills_runtime.safety.redaction.documents import new_name, rewritten
from skills_runtime.safety.redaction.finder import Finder
from skills_runtime.safety.redaction.shapes import is_secret_member
from skills_runtime.safety.redaction.stream import StreamRedactor
from skills_runtime.safety.redaction.text import MARK, decoded, encoded
from skills_runtime.safety.redaction.values import worth_hiding


class Redactor:
    """Replaces secrets by `<redacted>`: values it is given, and what looks like a key whoever it belongs to.

    A given value is found as it is, escaped for JSON (also within JSON), URLs, HTML and shells, as base64, as hex, and
    with colours in between. Values that ordinary text is full of are not looked for: see `worth_hiding`.
    Immutable, so that one may serve every run and every thread.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        values = {stripped for secret in secrets if worth_hiding(stripped := secret.strip())}
        self._numbers = frozenset(value for value in values if value.isascii() and value.isdigit())
        self._finder = Finder(values)
        self._match = self._finder.match

    def line(self, data: bytes) -> bytes:
        """The JSON document with secrets taken out of its strings and keys; the same object if it has none."""
        if self._match(data) is None:  # nearly always; so nothing may stand before it
            return data
        return rewritten(data, self.text, self._numbers) if self._finder.touches(data) else data

    def text(self, text: str) -> str:
        """The text without secrets; the same object if it has none."""
        data = encoded(text)
        spans = self._finder.spans(data)
        if not spans:
            return text
        pieces: list[bytes] = []
        place = 0
        for start, end in spans:
            pieces += (data[place:start], MARK.encode())
            place = end
        return decoded(b"".join((*pieces, data[place:])))

    def value(self, value: Any) -> Any:
        """The plain data with secrets taken out of its strings and keys; the same object if it has none."""
        return self._changed(value, {})

    def stream(self) -> StreamRedactor:
        """A redactor for one text that comes in pieces."""
        return StreamRedactor(self._finder)

    def _changed(self, value: Any, names: dict[str, str]) -> Any:
        match value:
            case str():
                return self.text(value)
            case dict():
                return self._members(cast("dict[Any, Any]", value), names)
            case list() | tuple():
                old = cast("list[Any] | tuple[Any, ...]", value)
                new = [self._changed(item, names) for item in old]
                if all(one is other for one, other in zip(new, old, strict=True)):
                    return old
                return new if isinstance(old, list) else tuple(new)
            case int() if str(value) in self._numbers:
                return MARK
            case _:
                return value

    def _members(self, old: dict[Any, Any], names: dict[str, str]) -> dict[Any, Any]:
        new: dict[Any, Any] = {}
        same = True
        for name, value in old.items():
            hidden = isinstance(name, str) and isinstance(value, str) and is_secret_member(name, value)
            renamed = new_name(name, self.text, names) if isinstance(name, str) else name
            changed = MARK if hidden else self._changed(value, names)
            new[renamed] = changed
            same = same and changed is value and renamed is name
        return old if same else new
