"""Format ICU messages, as `studio/src/i18n/icu.ts` does; both are checked against the same examples.

Supported are `{name}`, `{name, plural, =0 {…} one {# …} other {…}}` and `{name, select, run {…} other {…}}`. A missing
value is `none`, for which a `select` may have a case. Quoting is not supported.
"""

import re
from collections.abc import Mapping
from typing import Literal

Language = Literal["en", "zh"]
Value = object
"""Only texts and numbers count; any other value is missing."""

_TEXT = re.compile(r"[^{}]+")
_ARGUMENT = re.compile(r"\s*(\w+)\s*(?:,\s*(plural|select)\s*,)?")
_CASE = re.compile(r"\s*(=\d+|\w+)\s*\{")
_END = re.compile(r"\s*\}")
_DECIMALS = 3


def format_message(message: str, values: Mapping[str, Value], language: Language) -> str:
    """Fill a message with values; raise `ValueError` if it is malformed."""
    reader = _Reader(message, values, language)
    text = reader.read_text(None)
    if reader.offset != len(message):
        raise ValueError(f"not an ICU message: {message}")
    return text


class _Reader:
    def __init__(self, message: str, values: Mapping[str, Value], language: Language) -> None:
        self.offset = 0
        self._message = message
        self._values = values
        self._language = language

    def read_text(self, count: float | None) -> str:
        """Read text with arguments up to a closing brace or the end; `count` is the value of `#`."""
        parts: list[str] = []
        while self.offset < len(self._message) and self._message[self.offset] != "}":
            if self._message[self.offset] == "{":
                self.offset += 1
                parts.append(self._read_argument())
            else:
                text = self._take(_TEXT)[0]
                parts.append(text if count is None else text.replace("#", _format_number(count)))
        return "".join(parts)

    def _read_argument(self) -> str:
        argument = self._take(_ARGUMENT)
        value = _usable(self._values.get(argument[1]))
        if argument[2]:
            text = self._read_cases(argument[2], value)
        else:
            text = value if isinstance(value, str) else _format_number(value)
        self._take(_END)
        return text

    def _read_cases(self, kind: str, value: str | float) -> str:
        """Read all cases; return the one that applies."""
        count = _to_number(value) if kind == "plural" else None
        if count is None:
            names = [str(value), "other"]
        else:
            is_one = count == 1 and self._language == "en"
            names = [f"={count:g}", "one" if is_one else "other", "other"]
        cases: dict[str, str] = {}
        while case := _CASE.match(self._message, self.offset):
            self.offset = case.end()
            cases[case[1]] = self.read_text(count)
            self._take(_END)
        return next((cases[name] for name in names if name in cases), "")

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str]:
        matched = pattern.match(self._message, self.offset)
        if matched is None:
            raise ValueError(f"not an ICU message, at: {self._message[self.offset :]}")
        self.offset = matched.end()
        return matched


def _usable(value: Value) -> str | float:
    """Return a text or a number; anything else counts as missing."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return value if isinstance(value, str) and value else "none"


def _to_number(value: str | float) -> float:
    try:
        return float(value)
    except ValueError:
        return 0


def _format_number(value: float) -> str:
    """Format a number with grouped thousands and at most three decimals."""
    text = f"{value:,.{_DECIMALS}f}"
    return text.rstrip("0").rstrip(".")
