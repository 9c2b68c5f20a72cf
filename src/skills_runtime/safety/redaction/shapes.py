"""What is a secret by its shape or its place, whoever it belongs to: keys, tokens, private keys, passwords.

Precise rather than complete: a digest, an id, a path or prose must never be taken for one.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from skills_runtime.safety.redaction.pattern import Pattern, chain, either, literal, many, one, optional, repeated

Judge = Callable[[bytes, int, int], bool]
"""Whether what stands between two places of a text is a secret after all."""


class Shape(NamedTuple):
    """A secret, what must stand before it, and what must stand behind it."""

    before: str
    secret: Pattern
    behind: Pattern = Pattern("", "")
    judge: Judge | None = None

    @property
    def whole(self) -> str:
        """The expression that finds it; the secret is its only group."""
        return f"{self.before}({self.secret.whole}){self.behind.whole}"

    @property
    def begun(self) -> str:
        """The expression that finds what may become one at the end of a text."""
        return f"{self.before}({chain(self.secret, self.behind).begun})\\z"


_WORD = "[A-Za-z0-9]"
_URL_WORD = "[A-Za-z0-9_-]"
_BASE64 = "[A-Za-z0-9+/=]"
_ESCAPES = r"\x5c+[nrtbf]|\x5c+u[0-9a-fA-F]{4}|%[0-9A-Fa-f]{2}"
# A letter that belongs to an escape is no letter of a word.
_EDGE = rf"(?:^|[^A-Za-z0-9]|{_ESCAPES})"
_EDGE_OF_URL_WORD = rf"(?:^|[^A-Za-z0-9_-]|{_ESCAPES})"
_QUOTE = r"(?:\x5c*[\x22\x27])?"
_SAID = rf"{_QUOTE}[ \t]?[:=][ \t]?{_QUOTE}"
_SECRET_NAME = "(?i:(?:api|access|private|secret|auth)[_-]?key|token|secret|passw(?:or)?d|passphrase)"

_TOKENS = either(
    chain(literal("gh"), one("[pousr]"), literal("_"), many(_WORD, 16)),
    chain(literal("github_pat_"), many("[A-Za-z0-9_]", 16)),
    chain(either(literal("AKIA"), literal("ASIA")), many("[0-9A-Z]", 16, 16)),
    chain(literal("xox"), one("[abeprs]"), literal("-"), many("[A-Za-z0-9-]", 8)),
    chain(literal("xapp-"), many("[A-Za-z0-9-]", 16)),
    chain(literal("glpat-"), many(_URL_WORD, 20)),
    chain(either(literal("npm_"), literal("hf_"), literal("gsk_")), many(_WORD, 30)),
    chain(one("[rs]"), literal("k_"), either(literal("live"), literal("test")), literal("_"), many(_WORD, 16)),
    chain(literal("pypi-"), many(_URL_WORD, 32)),
)
_URL_TOKENS = either(
    chain(literal("AIza"), many(_URL_WORD, 20)),
    chain(
        literal("eyJ"),
        many(_URL_WORD, 6),
        literal("."),
        many(_URL_WORD, 6),
        optional(chain(literal("."), many(_URL_WORD, 0))),
    ),
)
_MODEL_KEY = chain(literal("sk-"), many(_URL_WORD, 8))

_BREAK = either(many(r"[\r\n]", 1), chain(many(r"\x5c", 1), one("[rn]")))
# What stands before a line where it is quoted, compared, or shown with its number.
_LABEL = chain(
    many(r"[\x20\t>|]", 0, 8),
    optional(chain(optional(one("L")), many("[0-9]", 1, 6), one(r"[:\t|]"), many(r"\x20", 0, 1))),
)
_NEW_LINE = chain(_BREAK, _LABEL, repeated(chain(_BREAK, _LABEL)))
_HEADER = chain(
    either(*map(literal, ("Proc-Type: ", "DEK-Info: ", "Version: ", "Comment: "))), many(r"[A-Za-z0-9 ,./:-]", 0)
)
_KEY_LINES = repeated(
    either(chain(_NEW_LINE, either(many(_BASE64, 4), _HEADER)), chain(many(r"\x20", 1), many(_BASE64, 40)))
)
_KEY_NAME = many("[A-Z0-9 ]", 0, 40)
_KEY_END = chain(either(_NEW_LINE, many(r"\x20", 0)), literal("-----END "), _KEY_NAME, literal("-----"))
_PRIVATE_KEY = chain(
    literal("-----BEGIN "), _KEY_NAME, literal("PRIVATE KEY"), optional(literal(" BLOCK")),
    optional(chain(literal("-----"), _KEY_LINES, optional(_KEY_END))),
)  # fmt: skip

_PASSWORD_OF_URL = many(r"[^\x00-\x20\x22\x23\x27\x2f\x3c\x3e\x3f\x5c\x60]", 1)
_PLAIN_VALUE = r"[^\x00-\x20\x22\x27\x5c,;&<>(){}\[\]$\x60|]"
_HEADER_VALUE = "[A-Za-z0-9._~+/=-]"


def _is_model_key(data: bytes, start: int, end: int) -> bool:
    """Names such as `sk-container-id-1` are made of words; keys have a long run of letters and digits."""
    runs = re.findall(rb"[A-Za-z0-9]{8,}", data[start + 3 : end])
    return any(len(run) >= 16 or len(re.findall(rb"[0-9]", run)) >= 2 for run in runs)


def is_secret_value(data: bytes, start: int, end: int) -> bool:
    """Whether what is assigned to a secret's name is a value, and not a variable, a call, a place or a placeholder."""
    value = data[start:end]
    if b"://" in value or value.startswith((b"/", b"./", b"../", b"~/")):
        return False
    if data[end : end + 1] in (b"(", b"[", b"{", b"<") or re.fullmatch(rb"[A-Za-z_]\w*(?:\.\w+)+", value):
        return False
    return re.search(rb"[0-9]", value) is not None and re.search(rb"[A-Za-z]", value) is not None


def _has_digit(data: bytes, start: int, end: int) -> bool:
    return re.search(rb"[0-9]", data[start:end]) is not None


SHAPES = (
    Shape(_EDGE, _TOKENS),
    Shape(_EDGE_OF_URL_WORD, _URL_TOKENS),
    Shape(_EDGE_OF_URL_WORD, _MODEL_KEY, judge=_is_model_key),
    Shape("", _PRIVATE_KEY),
    Shape(r"://[^\x00-\x20\x22\x27\x2f\x3a\x3c\x3e\x40\x5c\x60]{0,100}:", _PASSWORD_OF_URL, literal("@")),
    Shape(rf"(?i:authorization{_SAID}(?:bearer|basic|token|apikey)) +", many(_HEADER_VALUE, 8)),
    Shape(rf"{_EDGE}(?i:bearer) +", many(_HEADER_VALUE, 16), judge=_has_digit),
    Shape(_SECRET_NAME + _SAID, many(_PLAIN_VALUE, 8), judge=is_secret_value),
)

_MEMBER_NAME = re.compile(rf"{_SECRET_NAME}\Z")
_MEMBER_VALUE = re.compile(rf"{_PLAIN_VALUE}{{8,}}".encode())


def is_secret_member(name: str, value: str) -> bool:
    """Whether a member of an object is a secret, by its name and by what it holds."""
    raw = value.encode(errors="surrogatepass")
    whole = _MEMBER_NAME.search(name) is not None and _MEMBER_VALUE.fullmatch(raw) is not None
    return whole and is_secret_value(raw, 0, len(raw))
