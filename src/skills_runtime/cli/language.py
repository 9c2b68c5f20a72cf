"""The language of the command line.

A text is looked up by its key; the English one is beside the code, translations are in `messages/<language>/cli.json`.
"""

import sys
from collections.abc import Mapping
from functools import cache
from typing import TextIO

from skills_runtime.messages import CHINESE, ENGLISH, Catalog, Language, Phrase, Value

_chosen: Language | None = None
LABELS = frozenset(
    {
        # commands
        "accept", "answer", "approve", "deny", "files", "go on", "hint", "look", "quarantined", "restore", "send back",
        "show", "then",
        # notes of a run
        "again", "agent", "answered", "asks", "budget", "context", "decided", "received", "retry", "review", "skill",
        "void",
        # facts of a call
        "asked by", "directory", "gaps", "hidden", "hosts", "never", "open", "policy", "promises", "protected",
        "reaches", "reads", "reason", "risk", "runs", "sandbox", "script", "sets", "types", "wants", "workspace",
        "writes",
        # columns and facts of lists
        "call", "cost", "expires", "id", "run", "since", "started", "status", "steps", "task", "time", "title",
        "tokens", "took", "tool",
    }
)  # fmt: skip
"""Labels of facts, notes and columns, which are looked up as they are."""


def use_language(language: Language | None) -> None:
    """Write in a language from now on; with None, in the one of the environment."""
    global _chosen
    _chosen = language
    _catalog_of_environment.cache_clear()


def current_catalog() -> Catalog:
    """Return the messages of the language in use."""
    if _chosen is not None:
        return CHINESE if _chosen == "zh" else ENGLISH
    return _catalog_of_environment()


def translate(key: str, english: str, /, **values: Value) -> str:
    """Return a text in the language in use, filled with values; `english` is an ICU message."""
    return current_catalog().text(key, english, values)


def translate_label(label: str) -> str:
    """Return a label of ours in the language in use; any other text stays as it is."""
    return translate(f"label.{label.replace(' ', '_')}", label) if label in LABELS else label


def translate_phrase(text: str) -> str:
    """Return a text from below the command line in the language in use; one that is no phrase stays as it is."""
    if not isinstance(text, Phrase):
        return text
    values = {name: translate_phrase(value) if isinstance(value, str) else value for name, value in text.values.items()}
    catalog = current_catalog()
    return str(text) if catalog.language == "en" else catalog.text(text.key, "", values)


def translate_error(kind: str, details: Mapping[str, Value]) -> str:
    """Return what an error kind means; empty in English, where the error itself is a sentence."""
    catalog = current_catalog()
    return "" if catalog.language == "en" else catalog.error(kind, details)


def translate_status(status: str, english: str) -> str:
    """Return the label of a run status, as Studio shows it; in English, the one given."""
    catalog = current_catalog()
    return english if catalog.language == "en" else catalog.run_status(status) or english


@cache
def _catalog_of_environment() -> Catalog:
    from skills_runtime.config import preferred_language  # slow, and help pages are English

    is_chinese = preferred_language() == "zh" and all(map(_shows_chinese, (sys.stdout, sys.stderr)))
    return CHINESE if is_chinese else ENGLISH


def _shows_chinese(stream: TextIO) -> bool:
    try:
        chr(0x6587).encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
