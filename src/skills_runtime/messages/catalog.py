"""The messages of one language."""

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from skills_runtime.messages.icu import Language, Value, format_message

_DIRECTORY = Path(__file__).parent


def parse_language(name: str) -> Language:
    """Return the language of a locale such as `zh_CN.UTF-8`; all but Chinese is English."""
    return "zh" if name.lower().replace("-", "_").split(".")[0].split("_")[0] == "zh" else "en"


class Catalog:
    """The messages of a language, read from its files on first use."""

    def __init__(self, language: Language) -> None:
        self.language: Language = language

    def error(self, kind: str, details: Mapping[str, Value]) -> str:
        """Return what an error kind means; empty if the catalog does not know it."""
        return self._format(self._messages["errors"].get(kind, ""), details)

    def notice(self, event_type: str, details: Mapping[str, Value]) -> str:
        """Return what an event means that a transcript shows as a notice; empty if the catalog does not know it."""
        return self._format(self._messages["notices"].get(event_type, ""), details)

    def finding_hint(self, code: str) -> str:
        """Return how to correct a finding about a skill; empty if the catalog does not know it."""
        return "" if self.language == "en" else self._codes["diagnostics"].get(code, "")

    def run_status(self, status: str) -> str:
        """Return the label of a run status; empty if the catalog does not know it."""
        return self._states["run"].get(status, "")

    def text(self, key: str, english: str, values: Mapping[str, Value]) -> str:
        """Return a text of the command line; in English, or if there is no translation, the one of the code."""
        message = english if self.language == "en" else self._texts.get(key, english)
        return self._format(message, values)

    def _format(self, message: str, values: Mapping[str, Value]) -> str:
        return format_message(message, values, self.language)

    @cached_property
    def _messages(self) -> Mapping[str, Mapping[str, str]]:
        return self._read("messages")

    @cached_property
    def _states(self) -> Mapping[str, Mapping[str, str]]:
        return self._read("states")

    @cached_property
    def _codes(self) -> Mapping[str, Mapping[str, str]]:
        return self._read("codes")

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        return self._read("cli")

    def _read(self, name: str) -> Any:
        return json.loads((_DIRECTORY / self.language / f"{name}.json").read_bytes())


ENGLISH = Catalog("en")
CHINESE = Catalog("zh")
