"""The marks that output uses beside letters, and their ASCII forms for terminals that cannot show them."""

import codecs
import locale
import sys
from collections.abc import Mapping
from io import TextIOBase
from types import MappingProxyType
from typing import TextIO, cast

ASCII_MARKS: Mapping[str, str] = MappingProxyType(
    {
        "✓": "ok",
        "✗": "x",
        "■": "-",
        "○": "o",
        "◇": "o",
        "◆": "*",
        "▸": ">",
        "·": "-",
        "…": "...",
        "→": "->",
        "–": "-",
        "—": "-",
        "│": "|",
        "−": "-",
        "×": "x",
        "•": "*",
        "±": "+/-",
    }
)
"""Every mark that messages use, with its ASCII form."""
ENCODE_ERRORS = "ascii_marks"
"""The error handler that writes marks as ASCII, and escapes all other characters a stream cannot encode."""
_TABLE = str.maketrans(dict(ASCII_MARKS))


def to_ascii_marks(text: str) -> str:
    """Replace marks by their ASCII forms; other text stays as it is."""
    return text.translate(_TABLE)


def register_error_handler() -> None:
    """Register the error handler `ENCODE_ERRORS`."""

    def encode(error: UnicodeError) -> tuple[str | bytes, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        characters = error.object[error.start : error.end]
        escaped = (ASCII_MARKS.get(char) or char.encode("ascii", "backslashreplace").decode() for char in characters)
        return "".join(escaped), error.end

    codecs.register_error(ENCODE_ERRORS, encode)


def shows_unicode(stream: TextIO) -> bool:
    """Return whether a stream and the locale of its reader can show more than ASCII.

    With `LC_ALL=C` Python writes UTF-8 regardless, but a terminal of that locale cannot show it.
    """
    encoding = (stream.encoding or "utf-8").lower().replace("-", "")
    return encoding.startswith("utf") and not (sys.flags.utf8_mode and _is_ascii_locale())


def _is_ascii_locale() -> bool:
    return "utf" not in locale.nl_langinfo(locale.CODESET).lower()


class AsciiMarksStream(TextIOBase):
    """Write text to a stream, with marks in ASCII."""

    encoding = "ascii"

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str, /) -> int:
        """Write text, with marks in ASCII."""
        return self._stream.write(to_ascii_marks(text))

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """Return the descriptor of the stream."""
        return self._stream.fileno()


def adapt_marks(stream: TextIO) -> TextIO:
    """Return the stream itself, or one that writes marks in ASCII if it cannot show them."""
    return stream if shows_unicode(stream) else cast(TextIO, AsciiMarksStream(stream))
