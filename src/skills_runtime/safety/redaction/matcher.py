"""Find secrets in UTF-8: known values in the encodings of programs, and text shaped like a key.

One pass of RE2 decides whether to search at all. It looks only for the first bytes of each form, so that a long
value costs no more than a short one.
"""

import json
import re
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, cast
from urllib.parse import quote, quote_plus

from skills_runtime.errors import ConfigError
from skills_runtime.safety.redaction.secret_patterns import SHAPES

Span = tuple[int, int]

SHAPE_WINDOW = 8192
"""Maximum distance of an unfinished pattern from the end of a stream; more than a stream ever holds back."""
# Bytes of a form that the first pass searches for; fewer would match too many ordinary words.
_HEAD = 12
_NESTED = 4
"""Levels of JSON in JSON strings, including the line of the log."""

_COLOR_BEGIN = r"(?:\x1b|\x5c{1,8}(?:u001[bB]|x1[bB]|033|e))\x5b"
_COLOR = re.compile(rf"{_COLOR_BEGIN}[0-9;:?]{{0,32}}[A-Za-z]".encode())
# Line ends of `base64`, `xxd -p` and MIME, and the prefix of the next line in numbered output.
_WRAP = r"(?:\r?\n|\x5c{1,4}(?:r\x5c{1,4})?n)(?:L[0-9]{1,6}: )?"
_LINE_BREAK = re.compile(_WRAP.encode())
# The start of a color or line break that is cut off at the end of a chunk.
_CUT_OFF = (
    re.compile(rb"(?:\x1b|\x5c{1,8}(?:u(?:0(?:0(?:1[bB]?)?)?)?|x(?:1[bB]?)?|0(?:33?)?|e)?)(?:\x5b[0-9;:?]{0,32})?\Z"),
    re.compile(rb"(?:\r|\x5c{1,4}(?:r\x5c{0,4})?|(?:\r?\n|\x5c{1,4}(?:r\x5c{1,4})?n)(?:L(?:[0-9]{1,6}:?)?)?)\Z"),
)
_MAX_CUT_OFF = 64
# JSON with unnecessary or deeper escapes than the forms cover: its strings must be decoded.
_READ_FIRST = r"\x5c{9}|(?:^|[^\x5c])(?:\x5c\x5c)*\x5cu(?:00[2-9a-fA-F]|0[1-9a-fA-F]|[1-9a-fA-F])"

_COLORED, _ESCAPED, _KNOWN_VALUE = range(len(SHAPES), len(SHAPES) + 3)
"""Results of the first pass besides the numbers of patterns."""


def encoded_forms(value: str) -> set[bytes]:
    """Return the encodings of the value: plain, JSON, HTML, shell, URL, base64 and hex."""
    html = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    units = value.encode("utf-16-be", "surrogatepass").hex()
    texts = {
        html,
        html.replace('"', "&quot;"),
        html.replace('"', "&quot;").replace("'", "&#x27;"),
        html.replace('"', "&quot;").replace("'", "&#39;"),
        value.replace("'", "'\"'\"'"),
        value.replace("'", "'\\''"),
        "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4)),
    }
    for _ in range(2):
        texts |= {_escape_json(text) for text in texts}
    for ascii_only in (False, True):
        text = value
        for _ in range(_NESTED):
            texts.add(text)
            text = _escape_json(text, ascii_only=ascii_only)
        texts.add(text)
    texts.add(_escape_json(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # as Go does

    raw = value.encode(errors="surrogatepass")
    percent = {quote(raw, safe=""), quote(raw), quote(raw, safe="!~*'()"), quote_plus(raw)}
    percent.add("".join(f"%{byte:02X}" for byte in raw))
    percent |= {re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), text) for text in percent}
    for _ in range(2):
        percent |= {text.replace("%", "%25") for text in percent}
    for text in (raw.hex(" "), raw.hex(":"), "\\x" + raw.hex("\\").replace("\\", "\\x")):
        texts |= {text, text.upper().replace("\\X", "\\x")}
    return {text.encode(errors="surrogatepass") for text in texts | percent} | wrapped_forms(value)


def wrapped_forms(value: str) -> set[bytes]:
    """Return the encodings that programs break into lines, without the breaks."""
    raw = value.encode(errors="surrogatepass")
    forms = {raw.hex().encode(), raw.hex().upper().encode()}
    if b"\n" in raw:
        forms.add(raw.replace(b"\r", b"").replace(b"\n", b""))
    for shift in range(3):
        # Only the letters that depend on the value alone, with `shift` other bytes before it.
        first, last = -(-8 * shift // 6), 8 * (shift + len(raw)) // 6
        letters = b64encode(bytes(shift) + raw)[first:last]
        forms |= {letters, letters.translate(bytes.maketrans(b"+/", b"-_")), letters.replace(b"/", b"\\/")}
        forms |= {
            letters.replace(b"+", b"%2B").replace(b"/", b"%2F"),
            letters.replace(b"+", b"%2b").replace(b"/", b"%2f"),
        }
    return forms


def _escape_json(text: str, *, ascii_only: bool = False) -> str:
    return json.dumps(text, ensure_ascii=ascii_only)[1:-1]


class _Literals:
    """Literals to search for; of several at one offset the longest counts."""

    def __init__(self, literals: Iterable[bytes]) -> None:
        self._by_first: dict[int, list[bytes]] = {}
        for literal in sorted(literals, key=len, reverse=True):
            self._by_first.setdefault(literal[0], []).append(literal)
        self.heads = sorted({literal[:_HEAD] for group in self._by_first.values() for literal in group})
        self._stubs = {head[:end] for head in self.heads for end in range(1, len(head))}
        self._search: Any = None

    def find(self, data: bytes, *, goes_on: bool) -> tuple[list[Span], int]:
        """Return where literals are, and from where on one may be unfinished in an incomplete text."""
        spans: list[Span] = []
        offset = 0
        if self.heads and self._search is None:
            self._search = _compile("|".join(map(_quote, self.heads))).search
        while self.heads and (match := self._search(data, offset)) is not None:
            start = match.start()
            rest = len(data) - start
            group = self._by_first[data[start]]
            if goes_on and any(len(literal) > rest and literal.startswith(data[start:]) for literal in group):
                return spans, start
            length = next((len(literal) for literal in group if data.startswith(literal, start)), 0)
            offset = start + max(1, length)
            if length:
                spans.append((start, offset))
        first = max(spans[-1][1] if spans else 0, len(data) - _HEAD + 1) if goes_on else len(data)
        return spans, next((start for start in range(first, len(data)) if data[start:] in self._stubs), len(data))


class _View(NamedTuple):
    """A text without its colors or line breaks, with the original offsets."""

    text: bytes
    starts: Sequence[int] = (0,)
    """Start of each stretch in the text."""
    origins: Sequence[int] = (0,)
    """Start of each stretch in the original."""

    def origin(self, offset: int) -> int:
        """Return the offset in the original."""
        stretch = bisect_right(self.starts, offset) - 1
        return offset - self.starts[stretch] + self.origins[stretch]


def _remove(pattern: re.Pattern[bytes], data: bytes) -> _View:
    pieces: list[bytes] = []
    starts, origins = [0], [0]
    for match in pattern.finditer(data):
        run = len(match[0]) - len(match[0].lstrip(b"\\"))
        # Escaped once, twice or three times, a color has 1, 2 or 4 backslashes; more belong to the text.
        piece = data[origins[-1] : match.start() + run - (run & -run)]
        pieces.append(piece)
        if piece or len(starts) == 1:
            starts.append(starts[-1] + len(piece))
            origins.append(match.end())
        else:
            origins[-1] = match.end()
    pieces.append(data[origins[-1] :])
    return _View(b"".join(pieces), starts, origins)


class Matcher:
    """Finds known values and patterns; `match` returns None when there is nothing to search for."""

    def __init__(self, values: Iterable[str]) -> None:
        unique = sorted(set(values))
        self._literals = _Literals({form for value in unique for form in encoded_forms(value)})
        self._wrapped_literals = _Literals({form for value in unique for form in wrapped_forms(value)})
        expressions = [*(shape.complete for shape in SHAPES), _COLOR_BEGIN, _READ_FIRST]
        if unique:
            wrapped = (f"(?:{_WRAP})?".join(map(_quote_byte, head[:8])) for head in self._wrapped_literals.heads)
            expressions.append("|".join([*map(_quote, self._literals.heads), *wrapped]))
        self.match = _compile_set(expressions).Match
        if unique and self.match(unique[0].encode(errors="surrogatepass")) is None:
            raise ConfigError("there are too many secrets to look for", hint="name fewer variables as secret")

    def may_match(self, data: bytes) -> bool:
        """Return whether JSON may contain a secret, also inside its strings."""
        hits = self.match(data)
        return (self.match(_remove(_COLOR, data).text) if hits == [_COLORED] else hits) is not None

    def spans(self, data: bytes) -> list[Span]:
        """Return the spans of secrets, sorted and disjoint."""
        return self._find(data, goes_on=False)[0]

    def spans_so_far(self, data: bytes) -> tuple[list[Span], int, int]:
        """Return the secrets in an incomplete text, and where an unfinished value or pattern starts."""
        spans, known_wait = self._find(data, goes_on=True)
        for pattern in _CUT_OFF:
            if match := pattern.search(data, max(0, len(data) - _MAX_CUT_OFF)):
                run = len(match[0]) - len(match[0].lstrip(b"\\"))  # its first backslash is still unknown
                for cut in range(match.start(), match.start() + max(1, run)):
                    wait = self._find(data[:cut], goes_on=True)[1]
                    known_wait = min(known_wait, wait) if wait < cut else known_wait
        tail = data[-SHAPE_WINDOW:]
        unfinished = (_partial_pattern(number).search(tail).start(1) for number in _all_unfinished().Match(tail) or ())
        return spans, known_wait, min(unfinished, default=len(tail)) + len(data) - len(tail)

    def _find(self, data: bytes, *, goes_on: bool) -> tuple[list[Span], int]:
        """Find everything in the text as it is, without colors, and without line breaks."""
        hits: Sequence[int] = self.match(data) or ()
        spans = [span for hit in hits if hit < len(SHAPES) for span in _find_shape(hit, data)]
        wait = len(data)
        if goes_on or _COLORED in hits or _KNOWN_VALUE in hits:
            plain = _remove(_COLOR, data) if _COLORED in hits else _View(data)
            views = [(plain, self._literals)]
            if _LINE_BREAK.search(plain.text):
                joined = _remove(_LINE_BREAK, plain.text)
                views.append((joined._replace(origins=[*map(plain.origin, joined.origins)]), self._wrapped_literals))
            for view, literals in views:
                matches, unfinished = literals.find(view.text, goes_on=goes_on)
                # The end follows from the last byte: colors removed after a secret are not part of it.
                spans += [(view.origin(start), view.origin(end - 1) + 1) for start, end in matches]
                wait = min(wait, view.origin(unfinished))
        merged: list[Span] = []
        for start, end in sorted(spans):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], end))
            else:
                merged.append((start, end))
        return merged, wait


def _find_shape(number: int, data: bytes) -> Iterator[Span]:
    search, is_secret, offset = _complete_pattern(number).search, SHAPES[number].is_secret, 0
    while (match := search(data, offset)) is not None:
        start, offset = match.span(1)
        if is_secret is None or is_secret(data, start, offset):
            yield start, offset


def _quote_byte(byte: int) -> str:
    return chr(byte) if chr(byte).isascii() and chr(byte).isalnum() else f"\\x{byte:02x}"


def _quote(literal: bytes) -> str:
    return "".join(map(_quote_byte, literal))


@cache
def _complete_pattern(number: int) -> Any:
    return _compile(SHAPES[number].complete)


@cache
def _partial_pattern(number: int) -> Any:
    return _compile(SHAPES[number].partial_at_end)


@cache
def _all_unfinished() -> Any:
    return _compile_set([shape.partial_at_end for shape in SHAPES])


def _compile(text: str) -> Any:
    """Compile an expression for bytes that finds the leftmost, longest match."""
    re2, options = _load_re2(text)
    return re2.compile(text.encode(), options)


def _compile_set(texts: list[str]) -> Any:
    """Compile a set of expressions; one pass reports which of them match."""
    re2, options = _load_re2("".join(texts))
    expressions = re2.Set.SearchSet(options)
    for text in texts:
        expressions.Add(text.encode())
    expressions.Compile()
    return expressions


def _load_re2(text: str) -> tuple[Any, Any]:
    """Return the library, which is slow to load, and its options for an expression of this length."""
    import re2

    options = cast("Any", re2).Options()
    options.encoding = options.Encoding.LATIN1
    options.longest_match = True
    options.log_errors = False
    # Memory is allocated on use; with too little, a search becomes slow and a set reports no match.
    options.max_mem = max(32 << 20, 256 * len(text))
    return cast("Any", re2), options
