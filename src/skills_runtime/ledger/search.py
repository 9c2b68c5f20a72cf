"""From what a person typed to what SQLite understands; every text is data, no character is an operator."""

import json
import re
from typing import NamedTuple

from skills_runtime.errors import ValidationFailed

QUERY_LENGTH = 1000
TEXT_LENGTH = 262_144
_TRIGRAM = 3
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_WILDCARD = re.compile(r"[\\%_]")


class Search(NamedTuple):
    """A full-text expression for words of three characters or more, and `LIKE` patterns for shorter ones."""

    match: str | None
    patterns: str


def searchable(text: str) -> str:
    """The part of a text that is kept for searching, without characters SQLite would stop at."""
    return _UNSTORABLE.sub(" ", text[:TEXT_LENGTH])


def parse_search(text: str) -> Search:
    """Every word must occur somewhere; words are found inside longer ones, and case does not matter."""
    if len(text) > QUERY_LENGTH:
        raise ValidationFailed(
            f"the search text has {len(text)} characters", hint=f"use at most {QUERY_LENGTH} characters"
        )
    words = list(dict.fromkeys(searchable(text).split()))
    phrases = ['"' + word.replace('"', '""') + '"' for word in words if len(word) >= _TRIGRAM]
    patterns = ["%" + _WILDCARD.sub(r"\\\g<0>", word) + "%" for word in words if len(word) < _TRIGRAM]
    return Search(" ".join(phrases) or None, json.dumps(patterns))
