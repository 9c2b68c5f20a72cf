"""Messages are filled as Studio fills them: the same examples are in `studio/src/i18n/messages.test.ts`."""

import json
from typing import Any

import pytest

from skills_runtime.messages import format_message
from tests.support import ROOT

EXAMPLES: dict[str, Any] = json.loads((ROOT / "tests/fixtures/messages/icu.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("example", EXAMPLES["messages"], ids=lambda example: example["message"] or "empty")
def test_a_message_is_filled(example: dict[str, Any]) -> None:
    assert format_message(example["message"], example["values"], example["language"]) == example["text"]


@pytest.mark.parametrize("message", EXAMPLES["malformed"])
def test_a_malformed_message_is_refused(message: str) -> None:
    with pytest.raises(ValueError, match="not an ICU message"):
        format_message(message, {}, "en")
