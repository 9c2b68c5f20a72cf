"""The order in which other installers sort paths: that of a dictionary, not that of bytes.

Pure. They sort by JavaScript's `localeCompare`; for ASCII this is the same order to the letter, for other scripts it
follows the same rules as far as they can be told without their tables.
"""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

_SIGNS = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
"""Punctuation and symbols of ASCII, as dictionaries sort them: all before digits and letters."""
_AFTER_SIGNS = 1 << 10
_ACCENTS = "\u0301\u0300\u0306\u0302\u030c\u030a\u0308\u030b\u0303\u0307\u0338\u0327\u0328\u0304"
"""Accents from the nearest to the furthest: acute, grave, breve, circumflex, caron, ring, diaeresis and so on."""
_ALIKE = str.maketrans(
    {
        "ø": "o\u0338", "Ø": "O\u0338", "ł": "l\u0338", "Ł": "L\u0338", "đ": "d\u0338", "Đ": "D\u0338",
        "æ": "a\u035fe", "Æ": "A\u035fE",
    }
)  # fmt: skip
"""Letters that are sorted as others with an accent, though nothing in them says so."""
_LETTERS_OF_THEIR_OWN = frozenset("йЙ")

Key = tuple[tuple[tuple[int, int], ...], tuple[int, ...], tuple[int, ...], str]


@lru_cache(maxsize=4096)
def dictionary_key(text: str) -> Key:
    """What to sort a path by: letters first, then accents, then capitals, and the text itself where all agree."""
    letters: list[tuple[int, int]] = []
    accents: list[int] = []
    capitals: list[int] = []
    for character in _taken_apart(text):
        kind = unicodedata.category(character)
        if kind == "Cc" and character not in "\t\n\v\f\r":
            continue
        if kind in ("Mn", "Me"):
            place = _ACCENTS.find(character)
            accents.append(1 + (place if place >= 0 else ord(character)))
            capitals.append(0)
            continue
        for folded in character.casefold():
            letters.append(_letter(folded))
            accents.append(0)
            capitals.append(int(character != folded))
    return tuple(letters), tuple(accents), tuple(capitals), text


def _taken_apart(text: str) -> Iterator[str]:
    """Letters and their accents one by one."""
    for character in unicodedata.normalize("NFC", text).translate(_ALIKE):
        if character in _LETTERS_OF_THEIR_OWN:
            yield character
        else:
            yield from unicodedata.normalize("NFD", character)


def _letter(character: str) -> tuple[int, int]:
    place = _SIGNS.find(character)
    if place >= 0:
        return 1, place
    if character.isspace():
        return 0, ord(character)
    if character.isdecimal():
        return 2, int(character)
    return (3, ord(character)) if character.isalpha() else (1, _AFTER_SIGNS + ord(character))
