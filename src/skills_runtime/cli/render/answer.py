"""The answer of a run: alone on stdout, and harmless to a terminal."""

import sys

from skills_runtime.cli.render.text import neutral


def write_answer(text: str) -> None:
    """Write the answer, if there is one."""
    if text:
        write_text(text if text.endswith("\n") else f"{text}\n")


def write_text(text: str) -> None:
    """Write text that may come from a model."""
    sys.stdout.write(neutral(text))
