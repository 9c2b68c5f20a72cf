"""The ways in which programs write a value: as it is, escaped, percent-encoded, as base64 and as hex.

Each way is a row of symbols. What stands for one symbol is chosen anew at every symbol, so text that is escaped twice,
or percent-encoded in part, needs no row of its own.
"""

from base64 import b64encode
from functools import lru_cache
from typing import NamedTuple

from skills_runtime.safety.redaction.pattern import Pattern, any_of, chain, either, literal, many, one, optional

_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_URL_SAFE = {ord("+"): ord("-"), ord("/"): ord("_")}
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_LETTERED = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_MORE_LEADS = {" ": b"+", "'": b"'", "\n": b"\n"}

# JSON within JSON within JSON: each level doubles the backslashes.
_BACKSLASHES = many(r"\x5c", 1, 8)
_MAYBE_BACKSLASHES = many(r"\x5c", 0, 8)
# What a tool that numbers lines puts before each.
_LABEL = chain(one("L"), many("[0-9]", 1, 6), literal(": "))
# A line's end within base64 or hex, as `base64`, `xxd -p` and MIME have it.
_WRAP = chain(
    either(
        chain(many(r"\r", 0, 1), one(r"\n")),
        chain(many(r"\x5c", 1, 4), either(one("n"), chain(one("r"), many(r"\x5c", 1, 4), one("n")))),
    ),
    optional(_LABEL),
)
_WRAP_LEADS = b"\r\n\\"


class Symbol(NamedTuple):
    """What may stand for one character, six bits or half a byte of a value."""

    single: frozenset[int]
    """Bytes that stand for it alone."""
    others: tuple[Pattern, ...]
    """Longer forms; of none of them does the end depend on what follows."""
    leads: frozenset[int]
    """The bytes that the longer forms begin with."""

    @property
    def pattern(self) -> Pattern:
        """All forms as one pattern."""
        return either(*([one(any_of(self.single))] if self.single else []), *self.others)


Row = tuple[Symbol, ...]


def rows_of(value: str) -> tuple[Row, ...]:
    """Every way to write the value, each as a row of symbols."""
    raw = value.encode(errors="surrogatepass")
    return (tuple(map(_character, value)), *(_base64(raw, shift) for shift in range(3)), _hex(raw))


@lru_cache(maxsize=1024)
def _character(character: str) -> Symbol:
    """The character itself, or as JSON, URLs, HTML, Python and shells write it."""
    raw = character.encode(errors="surrogatepass")
    others = [*_escaped(character, raw), *_percent(raw)]
    leads = set(b"\\%")
    if len(raw) > 1:
        others.append(literal(raw))
        leads.add(raw[0])
    if not (character.isascii() and character.isalnum()):
        others += [*_entities(character), *_punctuation(character)]
        leads |= {*b"&", *_MORE_LEADS.get(character, b"")}
    return Symbol(frozenset(raw if len(raw) == 1 else b""), tuple(others), frozenset(leads))


def _escaped(character: str, raw: bytes) -> list[Pattern]:
    r"""`\u00e4`, and `\xe4` or `\344`, as Python, C, git and shells write bytes."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    pairs = [chain(one("u"), _digits(units[place : place + 4])) for place in range(0, len(units), 4)]
    codes = [either(chain(one("x"), _digits(f"{byte:02x}")), literal(f"{byte:03o}")) for byte in raw]
    if len(pairs) == len(codes) == 1:
        return [chain(_BACKSLASHES, either(*pairs, *codes))]
    return [chain(*(chain(_BACKSLASHES, part) for part in parts)) for parts in (pairs, codes)]


def _percent(raw: bytes) -> list[Pattern]:
    """Percent-encoded, up to three times."""
    if raw == b"%":  # one form each, for the first is the beginning of the second
        return [literal("%25"), literal("%2525"), literal("%252525")]
    again = optional(chain(literal("25"), optional(literal("25"))))
    return [chain(*(chain(one("%"), again, _digits(f"{byte:02x}")) for byte in raw))]


def _entities(character: str) -> list[Pattern]:
    """As HTML, and as HTML within HTML."""
    decimal = chain(many("0", 0, 4), literal(str(ord(character))))
    numbers = chain(one("#"), either(decimal, chain(one("[xX]"), many("0", 0, 4), _digits(f"{ord(character):x}"))))
    name = _ENTITIES.get(character)
    ends = chain(either(numbers, *([literal(name)] if name else [])), one(";"))
    return [chain(literal(begin), ends) for begin in ("&", "&amp;")]


def _punctuation(character: str) -> list[Pattern]:
    if character == "\\":
        return [literal(b"\\" * count) for count in (2, 4, 8)]
    forms = [chain(_BACKSLASHES, literal(character))]
    if character in _LETTERED:
        forms.append(chain(_BACKSLASHES, literal(_LETTERED[character])))
    if character == "\n":
        forms += [chain(form, _LABEL) for form in (one(r"\n"), forms[-1])]
    if character == " ":
        forms.append(one(r"\x2b"))
    if character == "'":  # a shell has to close its quotes for it
        double = chain(_MAYBE_BACKSLASHES, literal('"'))
        forms += [
            chain(literal("'"), _BACKSLASHES, literal("''")),
            chain(literal("'"), double, literal("'"), double, literal("'")),
        ]
    return forms


def _base64(raw: bytes, shift: int) -> Row:
    """The value within base64 when `shift` other bytes come before it, at any place of a longer text.

    A letter that has only two bits of the value is left out: it tells nothing, and would fit every fourth letter.
    """
    first, last = 8 * shift, 8 * (shift + len(raw))
    letters = b64encode(bytes(shift) + raw)[: -(-last // 6)]
    row: list[Symbol] = []
    for place in range(first // 6, len(letters)):
        known = sum(1 << bit for bit in range(6) if first <= 6 * place + 5 - bit < last)
        if known.bit_count() > 2:
            row.append(_sextet(letters[place], known, inner=bool(row)))
    return tuple(row)


@lru_cache(maxsize=1024)
def _sextet(letter: int, known: int, *, inner: bool) -> Symbol:
    """The letters of base64 that agree in the known bits, in either alphabet; if not the first, maybe on a new line."""
    fixed = _BASE64.index(letter) & known
    letters = bytes(_BASE64[six] for six in range(64) if six & known == fixed)
    special = [letter for letter in letters if letter in _URL_SAFE]
    single = frozenset(letters) | {_URL_SAFE[letter] for letter in special}
    others = [form for letter in special for form in _character(chr(letter)).others]
    leads = set(b"\\%&" if special else b"")
    if inner:
        others.append(chain(_WRAP, either(one(any_of(single)), *others)))
        leads |= set(_WRAP_LEADS)
    return Symbol(single, tuple(others), frozenset(leads))


def _hex(raw: bytes) -> Row:
    r"""Hex digits in either case; bytes may be apart by a space, a colon, an end of line or a new `\x`."""
    return tuple(_half(digit, apart=place > 0 and place % 2 == 0) for place, digit in enumerate(raw.hex()))


@lru_cache(maxsize=32)
def _half(digit: str, *, apart: bool) -> Symbol:
    single = frozenset((digit + digit.upper()).encode())
    between = either(one(r"[\x20\x3a]"), _WRAP, chain(many(r"\x5c", 1, 4), one("x")))
    others = (chain(between, one(any_of(single))),) if apart else ()
    return Symbol(single, others, frozenset(b" :\r\n\\" if apart else b""))


def _digits(digits: str) -> Pattern:
    """Hex digits in either case."""
    return chain(*(one(any_of({ord(digit), ord(digit.upper())})) for digit in digits))
