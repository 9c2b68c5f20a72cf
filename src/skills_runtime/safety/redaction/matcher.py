"""Finds secrets in UTF-8: known values, as the literal texts that programs write them as, and what is shaped like one.

One pass of RE2 tells whether there is anything to look for. RE2 searches for the first bytes of each literal only, so a
value of any length costs the pass no more than a short one.
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

WINDOW = 8192
"""How far from the end of a text the beginning of a shape is looked for; more than a stream ever holds back of one."""
_HEAD = 12
"""The bytes of a literal that are searched for; fewer would stop the search at every other word."""
_NESTED = 4
"""JSON within JSON within JSON, and once more within the line of a log."""

_COLOR_BEGIN = r"(?:\x1b|\x5c{1,8}(?:u001[bB]|x1[bB]|033|e))\x5b"
_COLOR = re.compile(rf"{_COLOR_BEGIN}[0-9;:?]{{0,32}}[A-Za-z]".encode())
_CUT_COLOR = re.compile(
    rb"(?:\x1b|\x5c{1,8}(?:u(?:0(?:0(?:1[bB]?)?)?)?|x(?:1[bB]?)?|0(?:33?)?|e)?)(?:\x5b[0-9;:?]{0,32})?\Z"
)
# The end of a line as `base64`, `xxd -p` and MIME wrap, and what a tool that numbers lines puts before the next.
_WRAP = r"(?:\r?\n|\x5c{1,4}(?:r\x5c{1,4})?n)(?:L[0-9]{1,6}: )?"
_LINE_BREAK = re.compile(_WRAP.encode())
_CUT_BREAK = re.compile(
    rb"(?:\r|\x5c{1,4}(?:r\x5c{0,4})?|(?:\r?\n|\x5c{1,4}(?:r\x5c{1,4})?n)(?:L(?:[0-9]{1,6}:?)?)?)\Z"
)
_LONGEST_CUT = 64
# JSON that escapes letters which need it not, or deeper than the literals go: its strings have to be read to tell.
_READ_FIRST = r"\x5c{9}|(?:^|[^\x5c])(?:\x5c\x5c)*\x5cu(?:00[2-9a-fA-F]|0[1-9a-fA-F]|[1-9a-fA-F])"

_COLORED, _ESCAPED, _KNOWN = range(len(SHAPES), len(SHAPES) + 3)


def literals_of(value: str) -> set[bytes]:
    """Return the value as programs write it: as it is, in JSON, URLs, HTML and shells, as base64 and as hex."""
    html = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    texts = {
        html,
        html.replace('"', "&quot;"),
        html.replace('"', "&quot;").replace("'", "&#x27;"),
        html.replace('"', "&quot;").replace("'", "&#39;"),
        value.replace("'", "'\"'\"'"),
        value.replace("'", "'\\''"),
        "".join(f"\\u{unit.hex()}" for unit in _pairs(value.encode("utf-16-be", "surrogatepass"))),
    }
    for _ in range(2):
        texts |= {_escaped(text) for text in texts}
    for ascii_only in (False, True):
        text = value
        for _ in range(_NESTED):
            texts.add(text)
            text = _escaped(text, ascii_only=ascii_only)
        texts.add(text)
    texts.add(_escaped(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # as Go does
    raw = value.encode(errors="surrogatepass")
    return (
        {text.encode(errors="surrogatepass") for text in texts} | _percent(raw) | _hex(raw) | wrapped_literals_of(value)
    )


def wrapped_literals_of(value: str) -> set[bytes]:
    """Return those forms of the value that programs break into lines, without the breaks."""
    raw = value.encode(errors="surrogatepass")
    forms = {raw.hex().encode(), raw.hex().upper().encode()}
    if b"\n" in raw:
        forms |= {raw.replace(b"\r", b"").replace(b"\n", b"")}
    for shift in range(3):
        # Only the letters that the value alone decides, when `shift` other bytes come before it.
        first, last = -(-8 * shift // 6), 8 * (shift + len(raw)) // 6
        letters = b64encode(bytes(shift) + raw)[first:last]
        forms |= {letters, letters.translate(bytes.maketrans(b"+/", b"-_")), letters.replace(b"/", b"\\/")}
        forms |= {
            letters.replace(b"+", plus).replace(b"/", slash) for plus, slash in ((b"%2B", b"%2F"), (b"%2b", b"%2f"))
        }
    return forms


def _pairs(data: bytes) -> Iterator[bytes]:
    return (data[place : place + 2] for place in range(0, len(data), 2))


def _escaped(text: str, *, ascii_only: bool = False) -> str:
    return json.dumps(text, ensure_ascii=ascii_only)[1:-1]


def _percent(raw: bytes) -> set[bytes]:
    every = "".join(f"%{byte:02X}" for byte in raw)
    texts = {quote(raw, safe=""), quote(raw), quote(raw, safe="!~*'()"), quote_plus(raw), every}
    texts |= {re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), text) for text in texts}
    for _ in range(2):
        texts |= {text.replace("%", "%25") for text in texts}
    return {text.encode() for text in texts}


def _hex(raw: bytes) -> set[bytes]:
    spaced = {raw.hex(separator) for separator in (" ", ":")} | {"\\x" + raw.hex("\\").replace("\\", "\\x")}
    return {form.encode() for text in spaced for form in (text, text.upper().replace("\\X", "\\x"))}


class _Literals:
    """Texts to be found, the longest of them where several begin at one place."""

    def __init__(self, literals: Iterable[bytes]) -> None:
        self._by_first: dict[int, list[bytes]] = {}
        for literal in sorted(literals, key=len, reverse=True):
            self._by_first.setdefault(literal[0], []).append(literal)
        self._heads = {literal[:_HEAD] for group in self._by_first.values() for literal in group}
        self._stubs = {head[:end] for head in self._heads for end in range(1, len(head))}
        self._search: Any = None

    def heads(self) -> set[bytes]:
        return self._heads

    def find(self, data: bytes) -> Iterator[tuple[int, int, bool]]:
        """Yield where a literal begins and ends, and whether more of the text is needed to tell; -1 is no end yet."""
        if not self._heads:
            return
        if self._search is None:
            self._search = _expression("|".join(map(_quoted, sorted(self._heads)))).search
        place = 0
        while (match := self._search(data, place)) is not None:
            start = match.start()
            rest = len(data) - start
            group = self._by_first[data[start]]
            end = next((start + len(one) for one in group if data.startswith(one, start)), -1)
            yield start, end, any(len(one) > rest and one.startswith(data[start:]) for one in group)
            place = max(start + 1, end)

    def wait(self, data: bytes, place: int) -> int:
        """Return from where on, at or behind `place`, the end of the text may be the head of a literal."""
        first = max(place, len(data) - _HEAD + 1)
        return next((start for start in range(first, len(data)) if data[start:] in self._stubs), len(data))


class View(NamedTuple):
    """A text without its colors or line breaks that knows where each of its bytes came from."""

    text: bytes
    starts: Sequence[int] = (0,)
    """Where each stretch begins in the text."""
    origins: Sequence[int] = (0,)
    """Where each stretch begins in the original."""

    def place(self, place: int) -> int:
        """Return where a place of the text is in the original."""
        stretch = bisect_right(self.starts, place) - 1
        return place - self.starts[stretch] + self.origins[stretch]

    def span(self, start: int, end: int) -> Span:
        """Return where a span is in the original, without what was removed around it."""
        return self.place(start), self.place(end - 1) + 1


def _without(pattern: re.Pattern[bytes], data: bytes) -> View:
    pieces: list[bytes] = []
    starts, origins = [0], [0]
    for match in pattern.finditer(data):
        run = len(match[0]) - len(match[0].lstrip(b"\\"))
        # Escaped once, twice, three times, a color has one, two, four backslashes; any more are the text's own.
        piece = data[origins[-1] : match.start() + run - (run & -run)]
        pieces.append(piece)
        if piece or len(starts) == 1:
            starts.append(starts[-1] + len(piece))
            origins.append(match.end())
        else:
            origins[-1] = match.end()
    pieces.append(data[origins[-1] :])
    return View(b"".join(pieces), starts, origins)


class Found(NamedTuple):
    """What a text that goes on has so far."""

    spans: list[Span]
    known_wait: int
    """From here on it may be a known value."""
    shape_wait: int
    """From here on it may be a secret by its shape."""


class Matcher:
    """Knows the values and the shapes, and finds where they stand; `match` gives nothing if there is nothing."""

    def __init__(self, values: Iterable[str]) -> None:
        kept = sorted(set(values))
        self._known = _Literals({form for value in kept for form in literals_of(value)})
        self._wrapped = _Literals({form for value in kept for form in wrapped_literals_of(value)})
        expressions = [*(shape.whole for shape in SHAPES), _COLOR_BEGIN, _READ_FIRST]
        if kept:
            wrapped = (f"(?:{_WRAP})?".join(map(_byte, head[:8])) for head in sorted(self._wrapped.heads()))
            expressions.append("|".join([*map(_quoted, sorted(self._known.heads())), *wrapped]))
        self.match = _expressions(expressions).Match
        if kept and self.match(kept[0].encode(errors="surrogatepass")) is None:
            raise ConfigError("there are too many secrets to look for", hint="name fewer variables as secret")

    def touches(self, data: bytes) -> bool:
        """Tell whether there may be anything secret, in JSON also when its strings are read."""
        hits = self.match(data)
        if hits == [_COLORED]:
            hits = self.match(_without(_COLOR, data).text)
        return hits is not None

    def spans(self, data: bytes) -> list[Span]:
        """Return where secrets stand, in order and apart from each other."""
        hits = self.match(data)
        return [] if hits is None else self._find(data, hits, goes_on=False)[0]

    def found(self, data: bytes) -> Found:
        """Return what there is in a text that goes on."""
        hits = self.match(data) or ()
        spans, known_wait = self._find(data, hits, goes_on=True)
        tail = data[-WINDOW:]
        matches = [_unfinished(number).search(tail) for number in _all_unfinished().Match(tail) or ()]
        shape_wait = min((match.start(1) for match in matches), default=len(tail)) + len(data) - len(tail)
        for cut in _cuts(data):
            _, wait = self._find(data[:cut], self.match(data[:cut]) or (), goes_on=True)
            if wait < cut:
                known_wait = min(known_wait, wait)
        return Found(spans, known_wait, shape_wait)

    def _find(self, data: bytes, hits: Sequence[int], *, goes_on: bool) -> tuple[list[Span], int]:
        """Find everything in the text as it is, without its colors, and without its line breaks."""
        spans = [span for hit in hits if hit < len(SHAPES) for span in _shaped(hit, data)]
        wait = len(data)
        if _COLORED in hits or _KNOWN in hits or goes_on:
            plain = _without(_COLOR, data) if _COLORED in hits else View(data)
            views = [(plain, self._known)]
            if _LINE_BREAK.search(plain.text):
                joined = _without(_LINE_BREAK, plain.text)
                origins = [plain.place(origin) for origin in joined.origins]
                views.append((View(joined.text, joined.starts, origins), self._wrapped))
            for view, literals in views:
                known, open_from = _known(view.text, literals, goes_on=goes_on)
                spans += [view.span(*span) for span in known]
                wait = min(wait, view.place(open_from))
        # In order, with those that overlap made one.
        united: list[Span] = []
        for start, end in sorted(spans):
            if united and start < united[-1][1]:
                united[-1] = (united[-1][0], max(united[-1][1], end))
            else:
                united.append((start, end))
        return united, wait


def _known(data: bytes, literals: _Literals, *, goes_on: bool) -> tuple[list[Span], int]:
    spans: list[Span] = []
    for start, end, is_open in literals.find(data):
        if is_open and goes_on:
            return spans, start
        if end > start:
            spans.append((start, end))
    return spans, literals.wait(data, spans[-1][1] if spans else 0) if goes_on else len(data)


def _shaped(number: int, data: bytes) -> Iterator[Span]:
    is_secret = SHAPES[number].is_secret
    search, place = _whole(number).search, 0
    while (match := search(data, place)) is not None:
        start, place = match.span(1)
        if is_secret is None or is_secret(data, start, place):
            yield start, place


def _cuts(data: bytes) -> set[int]:
    """Where a color or a line break may begin that the end of the text has cut off."""
    tail = max(0, len(data) - _LONGEST_CUT)
    cuts: set[int] = set()
    for pattern in (_CUT_COLOR, _CUT_BREAK):
        if (match := pattern.search(data, tail)) is not None:
            run = len(match[0]) - len(match[0].lstrip(b"\\"))  # which backslash is its first is still open
            cuts.update(range(match.start(), match.start() + max(1, run)))
    return cuts


def _byte(byte: int) -> str:
    return chr(byte) if chr(byte).isascii() and chr(byte).isalnum() else f"\\x{byte:02x}"


def _quoted(literal: bytes) -> str:
    return "".join(map(_byte, literal))


@cache
def _whole(number: int) -> Any:
    return _expression(SHAPES[number].whole)


@cache
def _unfinished(number: int) -> Any:
    return _expression(SHAPES[number].unfinished)


@cache
def _all_unfinished() -> Any:
    return _expressions([shape.unfinished for shape in SHAPES])


def _expression(text: str) -> Any:
    """Compile an expression for bytes that finds the leftmost, longest match."""
    import re2  # slow to load, and a process that shows nothing needs it not

    return cast("Any", re2).compile(text.encode(), _options(text))


def _expressions(texts: list[str]) -> Any:
    """Compile a set whose `Match` tells in one pass which of the expressions match somewhere."""
    import re2

    found = cast("Any", re2).Set.SearchSet(_options("".join(texts)))
    for text in texts:
        found.Add(text.encode())
    found.Compile()
    return found


def _options(text: str) -> Any:
    import re2

    options = cast("Any", re2).Options()
    options.encoding = options.Encoding.LATIN1
    options.longest_match = True
    options.log_errors = False
    # What is not used is not taken; what runs out makes a search slow, and a set blind.
    options.max_mem = max(32 << 20, 256 * len(text))
    return options
