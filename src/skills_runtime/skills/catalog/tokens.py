"""Guesses how many tokens a text has for a model, rather too many than too few.

Pure. Nobody here knows the model's own way of counting: short English words are one token, long ones a few, digits go
by threes, and each character of a script without spaces is one.
"""

import re

_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[^\w\s]|_+|[^\W\d_A-Za-z]+|\n")
_LETTERS = 7
"""How many letters of an English word make one token."""
_DIGITS = 3
_FOREIGN_BYTES = 3
"""How many bytes of other scripts make one token: about one character of Chinese, less than two of Cyrillic."""


def tokens_of(text: str) -> int:
    """About how many tokens the text has; of two texts together it is the sum."""
    return sum(map(_tokens, _PIECE.findall(text)))


def _tokens(piece: str) -> int:
    if not piece.isascii():
        return -(-len(piece.encode(errors="replace")) // _FOREIGN_BYTES)
    if piece.isalpha():
        return -(-len(piece) // _LETTERS)
    return -(-len(piece) // _DIGITS)
