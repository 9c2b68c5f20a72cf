"""Patterns of secrets by shape or context: keys, tokens, private keys, passwords.

Precise rather than complete: a digest, an id, a path or prose must never match. The expressions are for bytes, in
the syntax that RE2 and `re` share.
"""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple


class Shape(NamedTuple):
    """A secret and its required context before and after."""

    prefix: str
    secret: str
    partial: str
    """Matches every prefix of the secret and its context, including the empty one."""
    behind: str = ""
    is_secret: Callable[[bytes, int, int], bool] | None = None
    """Decides whether the bytes between two offsets really are a secret."""

    @property
    def complete(self) -> str:
        """The expression that matches it; the secret is its only group."""
        return f"{self.prefix}({self.secret}){self.behind}"

    @property
    def partial_at_end(self) -> str:
        """The expression that matches a possible prefix at the end of a text."""
        return rf"{self.prefix}({self.partial}|{self.secret})\z"


_WORD = "[A-Za-z0-9]"
_URL_WORD = "[A-Za-z0-9_-]"
_ESCAPES = r"\x5c+[nrtbf]|\x5c+u[0-9a-fA-F]{4}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]*m"
# A letter that belongs to an escape or to a terminal color is not part of a word.
_EDGE = rf"(?:^|[^A-Za-z0-9]|{_ESCAPES})"
_EDGE_OF_URL_WORD = rf"(?:^|[^A-Za-z0-9_-]|{_ESCAPES})"
_QUOTE = r"(?:\x5c*[\x22\x27])?"
_ASSIGNED = rf"{_QUOTE}[ \t]?[:=][ \t]?{_QUOTE}"
_SECRET_NAME = "(?i:(?:api|access|private|secret|auth)[_-]?key|token|secret|passw(?:or)?d|passphrase)"
_HEADER_VALUE = "[A-Za-z0-9._~+/=-]"
_PLAIN_VALUE = r"[^\x00-\x20\x22\x27\x5c,;&<>(){}\[\]$\x60|]"
_URL_PASSWORD = r"[^\x00-\x20\x22\x23\x27\x2f\x3c\x3e\x3f\x5c\x60]"


def _beginnings(*literals: str) -> str:
    """Match a prefix of one of these texts, or nothing."""
    stubs = {literal[:end] for literal in literals for end in range(1, len(literal))}
    return "|".join(["", *sorted(map(re.escape, stubs))])


def _token(heads: Iterable[str], letters: str, least: int, most: int | str = "") -> tuple[str, str]:
    """Match one of the prefixes followed by this many letters, and its own prefixes."""
    heads = list(heads)
    head = f"(?:{'|'.join(heads)})"
    return f"{head}{letters}{{{least},{most}}}", f"{_beginnings(*heads)}|{head}{letters}{{0,{most}}}"


def _either(*tokens: tuple[str, str]) -> tuple[str, str]:
    return "|".join(complete for complete, _ in tokens), "|".join(partial for _, partial in tokens)


_TOKENS = _either(
    _token((f"gh{kind}_" for kind in "pousr"), _WORD, 16),
    _token(["github_pat_"], "[A-Za-z0-9_]", 16),
    _token(["AKIA", "ASIA"], "[0-9A-Z]", 16, 16),
    _token((f"xox{kind}-" for kind in "abeprs"), "[A-Za-z0-9-]", 8),
    _token(["xapp-"], "[A-Za-z0-9-]", 16),
    _token(["glpat-"], _URL_WORD, 20),
    _token(["npm_", "hf_", "gsk_"], _WORD, 30),
    _token(["rk_live_", "rk_test_", "sk_live_", "sk_test_"], _WORD, 16),
    _token(["pypi-"], _URL_WORD, 32),
)
_URL_TOKENS = _either(
    _token(["AIza"], _URL_WORD, 20),
    (
        rf"eyJ{_URL_WORD}{{6,}}\.{_URL_WORD}{{6,}}(?:\.{_URL_WORD}*)?",
        rf"{_beginnings('eyJ')}|eyJ{_URL_WORD}*(?:\.{_URL_WORD}*)?",
    ),
)

_BREAK = r"(?:[\r\n]+|\x5c+[rn])"
# Prefixes of a line that is quoted, part of a diff, or numbered.
_LABEL = r"[\x20\t>|]{0,8}(?:L?[0-9]{1,6}[:\t|]\x20?)?"
_NEW_LINE = rf"(?:{_BREAK}{_LABEL})+"
_HEADER = "(?:Proc-Type: |DEK-Info: |Version: |Comment: )[A-Za-z0-9 ,./:-]*"
_KEY_LINES = rf"(?:{_NEW_LINE}(?:[A-Za-z0-9+/=]{{4,}}|{_HEADER})|\x20+[A-Za-z0-9+/=]{{40,}})*"
_KEY_BEGIN = "-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?"
_KEY_END = rf"(?:{_NEW_LINE}|\x20*)-----END [A-Z0-9 ]*-----"
_CUT_LINE = rf"(?:{_BREAK}{_LABEL})*\x5c*\x20*(?:[A-Za-z0-9+/=]*|[A-Za-z0-9 ,./:-]*|-----END [A-Z0-9 ]*-{{0,4}})"
_PRIVATE_KEY = (
    rf"{_KEY_BEGIN}(?:-----{_KEY_LINES}(?:{_KEY_END})?)?",
    rf"{_beginnings('-----BEGIN ')}|-----BEGIN [A-Z0-9 ]*|{_KEY_BEGIN}(?:-{{0,4}}|-----{_KEY_LINES}{_CUT_LINE})",
)


def _is_model_key(data: bytes, start: int, end: int) -> bool:
    # Names such as `sk-container-id-1` consist of words; keys have a long run of letters and digits.
    runs = re.findall(rb"[A-Za-z0-9]{8,}", data[start + 3 : end])
    return any(len(run) >= 16 or len(re.findall(rb"[0-9]", run)) >= 2 for run in runs)


def _is_value(data: bytes, start: int, end: int) -> bool:
    """Return whether the assigned text is a value, not a variable, a call, a path or a placeholder."""
    value = data[start:end]
    if b"://" in value or value.startswith((b"/", b"./", b"../", b"~/")):
        return False
    if data[end : end + 1] in (b"(", b"[", b"{", b"<") or re.fullmatch(rb"[A-Za-z_]\w*(?:\.\w+)+", value):
        return False
    return re.search(rb"[0-9]", value) is not None and re.search(rb"[A-Za-z]", value) is not None


def _has_digit(data: bytes, start: int, end: int) -> bool:
    return re.search(rb"[0-9]", data[start:end]) is not None


SHAPES = (
    Shape(_EDGE, *_TOKENS),
    Shape(_EDGE_OF_URL_WORD, *_URL_TOKENS),
    Shape(_EDGE_OF_URL_WORD, *_token(["sk-"], _URL_WORD, 8), is_secret=_is_model_key),
    Shape("", *_PRIVATE_KEY),
    Shape(
        r"://[^\x00-\x20\x22\x27\x2f\x3a\x3c\x3e\x40\x5c\x60]{0,100}:",
        *(f"{_URL_PASSWORD}+", f"{_URL_PASSWORD}*"),
        behind="@",
    ),
    Shape(
        rf"(?i:authorization{_ASSIGNED}(?:bearer|basic|token|apikey)) +", f"{_HEADER_VALUE}{{8,}}", f"{_HEADER_VALUE}*"
    ),
    Shape(rf"{_EDGE}(?i:bearer) +", f"{_HEADER_VALUE}{{16,}}", f"{_HEADER_VALUE}*", is_secret=_has_digit),
    Shape(_SECRET_NAME + _ASSIGNED, f"{_PLAIN_VALUE}{{8,}}", f"{_PLAIN_VALUE}*", is_secret=_is_value),
)

_MEMBER_NAME = re.compile(rf"{_SECRET_NAME}\Z")
_MEMBER_VALUE = re.compile(rf"{_PLAIN_VALUE}{{8,}}".encode())


def is_secret_member(name: str, value: str) -> bool:
    """Return whether a member of an object is a secret, by its name and value."""
    raw = value.encode(errors="surrogatepass")
    looks_secret = _MEMBER_NAME.search(name) is not None and _MEMBER_VALUE.fullmatch(raw) is not None
    return looks_secret and _is_value(raw, 0, len(raw))
