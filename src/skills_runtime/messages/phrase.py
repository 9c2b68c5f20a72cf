"""An English text that remembers how it was made, so that it can be said in another language where it is shown."""

from collections.abc import Mapping
from types import MappingProxyType

from skills_runtime.messages.icu import Value, format_message


class Phrase(str):
    """An English text, with the key and the values of its message."""

    __slots__ = ("key", "values")

    key: str
    values: Mapping[str, Value]


def phrase(key: str, english: str, /, **values: Value) -> Phrase:
    """Fill an English ICU message with values."""
    made = Phrase(format_message(english, values, "en"))
    made.key, made.values = key, MappingProxyType(values)
    return made
