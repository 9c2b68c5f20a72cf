"""The message catalog: what error kinds, notices, states and texts of the command line mean, by language.

Studio imports the same JSON files. Messages are ICU messages; see `icu`. English texts of the command line are beside
its code, so `en/` has no `cli.json`.
"""

from skills_runtime.messages.catalog import CHINESE, ENGLISH, Catalog, Language, parse_language
from skills_runtime.messages.icu import Value, format_message
from skills_runtime.messages.phrase import Phrase, phrase

__all__ = ["CHINESE", "ENGLISH", "Catalog", "Language", "Phrase", "Value", "format_message", "parse_language", "phrase"]
