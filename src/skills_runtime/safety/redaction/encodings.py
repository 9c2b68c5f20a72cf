"""The ways in which programs write a value: as it is, escaped, percent-encoded, as base64 and as hex.

Each way is a row of symbols. What stands for one symbol is chosen anew at every symbol, so text that is escaped twice,
or percent-encoded in part, needs no row of its own.
"""

from functools import lru_cache
from typing import NamedTuple

from skills_runtime.safety.redaction.pattern import Pattern, any_of, chain, either, literal, many, one, optional

_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_URL_SAFE = {ord("+"): ord("-"), ord("/"): ord("_")}
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_LETTERED = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}

# JSON within JSON within JSON: each level doubles the backslashes.
_BACKSLASHES = many(r"\x5c", 1, 8)
_MAYBE_BACKSLASHES = many(r"\x5c", 0, 8)
_BREAK = either(one(r"[\r\n]"), chain(_BACKSLASHES, one("[rn]")))
# A line's end within base64 or hex, as `base64`, `xxd -p` and PEM files have it.
_WRAP = chain(_BREAK, optional(_BREAK))
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
    others = [_unicode_escape(character), _byte_escapes(raw), *_percent(raw)]
    leads = set(b"\\%") | set(raw[:1])
    if len(raw) > 1:
        others.append(literal(raw))
    if not (character.isascii() and character.isalnum()):
        others += [_entity(character), *_punctuation(character)]
        leads |= set(b"&+'")
    return Symbol(frozenset(raw if len(raw) == 1 else b""), tuple(others), frozenset(leads))


def _unicode_escape(character: str) -> Pattern:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    pairs = [units[place : place + 4] for place in range(0, len(units), 4)]
    return chain(*(chain(_BACKSLASHES, one("u"), _digits(unit)) for unit in pairs))


def _byte_escapes(raw: bytes) -> Pattern:
    r"""`\xe4` and `\344`, as Python, C, git and shells write bytes."""
    return chain(
        *(chain(_BACKSLASHES, either(chain(one("x"), _digits(f"{byte:02x}")), literal(f"{byte:03o}"))) for byte in raw)
    )


def _percent(raw: bytes) -> list[Pattern]:
    """Percent-encoded up to three times; each a form of its own, for the first may be the beginning of the second."""
    return [chain(*(chain(literal(f"%{again}"), _digits(f"{byte:02x}")) for byte in raw)) for again in ("", "25", "2525")]


def _entity(character: str) -> Pattern:
    code = ord(character)
    numbers = chain(
        one("#"), either(chain(many("0", 0, 4), literal(str(code))), chain(one("[xX]"), many("0", 0, 4), _digits(f"{code:x}")))
    )
    name = _ENTITIES.get(character)
    return chain(one("&"), optional(literal("amp;")), either(numbers, *([literal(name)] if name else [])), one(";"))


def _punctuation(character: str) -> list[Pattern]:
    if character == "\\":
        return [literal(b"\\" * count) for count in (2, 4, 8)]
    forms = [chain(_BACKSLASHES, literal(character))]
    if character in _LETTERED:
        forms.append(chain(_BACKSLASHES, literal(_LETTERED[character])))
    if character == " ":
        forms.append(one(r"\x2b"))
    if character == "'":  # a shell has to close its quotes for it
        double = chain(_MAYBE_BACKSLASHES, literal('"'))
        forms += [chain(literal("'"), _BACKSLASHES, literal("''")), chain(literal("'"), double, literal("'"), double, literal("'"))]
    return forms


def _base64(raw: bytes, shift: int) -> Row:
    """The value within base64 when `shift` other bytes come before it, at any place of a longer text."""
    first, last = 8 * shift, 8 * (shift + len(raw))
    size = -(-last // 6)
    value = int.from_bytes(raw) << (6 * size - last)
    row: list[Symbol] = []
    for place in range(first // 6, size):
        down = 6 * (size - 1 - place)
        known = sum(1 << bit for bit in range(6) if first <= 6 * place + 5 - bit < last)
        fixed = (value >> down) & known
        row.append(_sextet(bytes(_BASE64[six] for six in range(64) if six & known == fixed), wrapped=bool(row)))
    return tuple(row)


@lru_cache(maxsize=1024)
def _sextet(letters: bytes, *, wrapped: bool) -> Symbol:
    """One of these letters of base64, in the spelling of URLs too; or behind the end of a line."""
    single = frozenset(letters) | {_URL_SAFE[letter] for letter in letters if letter in _URL_SAFE}
    escaped = [form for letter in letters if letter in _URL_SAFE for form in _character(chr(letter)).others]
    others = [*escaped, chain(_WRAP, either(one(any_of(single)), *escaped))] if wrapped else escaped
    leads = (set(_WRAP_LEADS) if wrapped else set[int]()) | (set(b"\\%&") if escaped else set[int]())
    return Symbol(single, tuple(others), frozenset(leads))


def _hex(raw: bytes) -> Row:
    """Hex digits in either case; bytes may be apart by a space, a colon, an end of line or a new `\\x`."""
    between = either(one(r"[\x20\x3a]"), _WRAP, chain(_BACKSLASHES, one("x")))
    row: list[Symbol] = []
    for place, digit in enumerate(raw.hex()):
        single = frozenset((digit + digit.upper()).encode())
        apart = place > 0 and place % 2 == 0
        others = (chain(between, one(any_of(single))),) if apart else ()
        row.append(Symbol(single, others, frozenset(b" :\r\n\\" if apart else b"")))
    return tuple(row)


def _digits(digits: str) -> Pattern:
    """Hex digits in either case."""
    return chain(*(one(any_of({ord(digit), ord(digit.upper())})) for digit in digits))
