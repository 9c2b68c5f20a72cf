"""Writes the beginning of a new skill, valid from its first moment on."""

import os
import shutil
import tempfile
from pathlib import Path

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.skills.standard.directories import FILE_NAME
from skills_runtime.skills.standard.parsing import parse_skill
from skills_runtime.skills.standard.specification import normal, quoted

DESCRIPTION = "Say here what this skill does, and when it is to be used."

_BODY = """
# {title}

Write here, step by step, what is to be done. Whoever follows this knows the task, and nothing else of what you know.

1. Look at what was asked for.
2. Do it.
3. Check the result.

Put long texts into `references/`, programs into `scripts/`, and name them here by their paths.
"""


def new_skill(name: str, parent: Path, description: str = "") -> Path:
    """Make the directory of a new skill, whole or not at all; returns its file."""
    name = normal(name)
    text = skill_text(name, description or DESCRIPTION)
    for wrong in parse_skill(text.encode(), mode="strict", directory_name=name).diagnostics:
        raise ValidationFailed(wrong.message, hint=wrong.hint)
    place = parent / name
    if os.path.lexists(place):
        raise ValidationFailed(f"{quoted(str(place))} is there already", hint="choose another name, or another `--dir`")
    parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{name[:32]}-", dir=parent))
    try:
        (draft / FILE_NAME).write_text(text, encoding="utf-8")
        draft.chmod(0o755)
        draft.rename(place)  # fails where somebody was faster and put something there
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return place / FILE_NAME


def skill_text(name: str, description: str) -> str:
    """A whole `SKILL.md`; quotes of JSON are quotes of YAML too."""
    quotes = msgspec.json.encode(description).decode()
    title = name.replace("-", " ").capitalize()
    return f"---\nname: {name}\ndescription: {quotes}\n---\n{_BODY.format(title=title)}"
