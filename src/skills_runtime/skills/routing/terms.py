"""Convert text to the terms it is compared by: stemmed words, expanded abbreviations, Chinese character pairs.

Pure and deterministic.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from skills_runtime.skills.routing.vocabulary import (
    PHRASES,
    RELATED_LINES,
    SAME,
    STOP_PAIRS,
    STOP_WORDS,
    SYNONYM_LINES,
    TRADITIONAL,
    TRANSLATIONS,
)

_ANY = re.compile("|".join(sorted(TRANSLATIONS, key=len, reverse=True)))
MAX_WORD_CHARS = 48
"""Longer words are split."""

_HAN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(rf"[A-Za-z0-9]{{1,{MAX_WORD_CHARS}}}|[{_HAN}]+|[^\W_A-Za-z0-9{_HAN}]{{1,{MAX_WORD_CHARS}}}")
_ANY_HAN = re.compile(f"[{_HAN}]")
_ACCENTED = re.compile("[\u00c0-\u024f]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_UNSPLIT = frozenset(
    [
        "JavaScript",
        "TypeScript",
        "GitHub",
        "GitLab",
        "YouTube",
        "LinkedIn",
        "PostgreSQL",
        "MySQL",
        "GraphQL",
        "DevOps",
        "WordPress",
    ]
)
_APOSTROPHES = str.maketrans("", "", "'’")
_SKIPPED = STOP_WORDS | frozenset("abdefghijklmnopqstuvwxyz0123456789")
"""Single letters are ignored, except the names of two languages."""
_PHRASE = re.compile("|".join(re.escape(phrase) for phrase in sorted(PHRASES, key=len, reverse=True)), re.IGNORECASE)

_ENDINGS = """
    ization isation ational fulness iveness ation izing ising izer iser ized ised ize ise ating ator ated ate ically
    ment ity ing ion ied er or ive ly ed e al
""".split()  # noqa: SIM905 - many words read best as a text
_BY_LAST = {last: [string for string in _ENDINGS if string[-1] == last] for last in {suffix[-1] for suffix in _ENDINGS}}
_REPLACED = {"ational": "ate", "fulness": "ful", "iveness": "ive", "ically": "ic", "ied": "y"}
_LONGER_STEMS = frozenset(["al", "ate", "ise", "ize", "or", "ive", "ity", "er", "ion"])
"""Suffixes that short words have by chance."""
_DOUBLING = frozenset(["ing", "ed", "er"])
_ANALYSIS = re.compile("analy[sz]|analyt")


def extract_terms(text: str) -> list[str]:
    """Return the terms of a text in order."""
    if not text:
        return []
    runs = _RUN.findall(normalize_text(text))
    of_run = _terms_of_word if text.isascii() else _terms_of
    return [item for run in runs for item in of_run(run)]


def _terms_of(run: str) -> Sequence[str]:
    """Return the terms of a word: none for a stop word, several for a compound."""
    return _pairs(run) if run[0] > "\u3000" else _terms_of_word(run)


def original_spellings(text: str) -> dict[str, str]:
    """Return the original word of each term of a text, for display."""
    spellings: dict[str, str] = {}
    for run in _RUN.findall(normalize_text(text)):
        of_run = _terms_of(run)
        for item in of_run:
            spellings.setdefault(item, run if len(of_run) == 1 else item)
    return spellings | {term(english): chinese for english, chinese in _translate_words(text)}


def translate_terms(text: str) -> list[str]:
    """Return the English terms for the Chinese words of a text."""
    return [term(english) for english, _ in _translate_words(text)]


def _translate_words(text: str) -> list[tuple[str, str]]:
    """Return the English words for the known Chinese ones, each with the Chinese word, in order."""
    if text.isascii() or not _ANY_HAN.search(text):
        return []
    return [(english, match[0]) for match in _ANY.finditer(normalize_text(text)) for english in TRANSLATIONS[match[0]]]


def normalize_text(text: str) -> str:
    """Normalize spellings and join phrases that count as one word."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = text.translate(TRADITIONAL) if _ANY_HAN.search(text) else _ACCENTED.sub(_strip_accents, text)
    text = text.translate(_APOSTROPHES) if "'" in text or "’" in text else text
    small = text.lower()
    # A plain loop: indexing thousands of skills spends its time here.
    for phrase in PHRASES:
        if phrase in small:
            return _PHRASE.sub(lambda match: PHRASES.get(match[0].lower(), match[0]), text)
    return text


def _strip_accents(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFKD", match[0]).encode("ascii", "ignore").decode() or match[0]


@lru_cache(maxsize=65_536)
def _terms_of_word(run: str) -> tuple[str, ...]:
    words = [run] if run.islower() or run in _UNSPLIT else _CAMEL.sub(" ", run).split()
    words = [run, *words] if len(words) > 1 else words
    return tuple(term(word) for word in map(str.lower, words) if word not in _SKIPPED)


def term(word: str) -> str:
    """Return the term of a lower-case word."""
    return stem(singular(SAME.get(word) or SAME.get(singular(word), word)))


def singular(word: str) -> str:
    """Return the singular of a word, judged by its ending."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")) or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "xes", "ches", "shes", "zzes")) else word[:-1]


def stem(word: str) -> str:
    """Return the stem of a word, judged by its ending."""
    if len(word) < 4 or not word.isascii() or not word.isalpha() or word.endswith(("ss", "us")):
        return word
    if _ANALYSIS.match(word):
        return "analy"
    for ending in _BY_LAST.get(word[-1], ()):
        stem_length = len(word) - len(ending)
        if word.endswith(ending) and stem_length >= (4 if ending in _LONGER_STEMS else 3):
            return _normalize_stem(word[:stem_length] + _REPLACED.get(ending, ""), doubled=ending in _DOUBLING)
    return _normalize_stem(word, doubled=False)


def _normalize_stem(base: str, *, doubled: bool) -> str:
    """Normalize a stem: `running` loses an `n`, `categories` its `y`."""
    if doubled and len(base) > 3 and base[-1] == base[-2] and base[-1] not in "sl":
        base = base[:-1]
    if base.endswith("y") and len(base) > 3:
        return base[:-1] + "i"
    return base[:-1] if base.endswith("e") and len(base) > 4 else base


def _pairs(run: str) -> list[str]:
    """Split text without spaces into overlapping character pairs."""
    if len(run) == 1:
        return [run]
    return [pair for pair in (run[start : start + 2] for start in range(len(run) - 1)) if pair not in STOP_PAIRS]


def _groups(lines: Sequence[str]) -> dict[str, tuple[str, ...]]:
    near: dict[str, dict[str, None]] = {}
    for line in lines:
        group = [term(word) for word in line.split()]
        for member in group:
            near.setdefault(member, {}).update(dict.fromkeys(other for other in group if other != member))
    return {member: tuple(related) for member, related in near.items()}


SYNONYMS = _groups(SYNONYM_LINES)
"""The synonyms of a term."""
RELATIVES = _groups(RELATED_LINES)
"""The related terms of a term."""
