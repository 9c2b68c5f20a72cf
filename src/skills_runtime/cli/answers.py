"""Answers to questions that offer choices.

Pure.
"""

from collections.abc import Sequence


def chosen(text: str, choices: Sequence[str]) -> str:
    """The choice whose number was typed, or what was typed; a choice that is itself a number is meant first."""
    text = text.strip()
    if text in choices or not text.isdecimal() or not text.isascii():
        return text
    number = int(text[:9])
    return choices[number - 1] if 1 <= number <= len(choices) else text
