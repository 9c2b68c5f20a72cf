"""Create the directory of a new skill, whole or not at all."""

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from skills_runtime.errors import ValidationFailed
from skills_runtime.skills.standard.directories import FILE_NAME
from skills_runtime.skills.standard.parse import parse_skill
from skills_runtime.skills.standard.specification import normalize_name, quote
from skills_runtime.skills.templates import PROGRAMS, Language, Runtime, render_files
from skills_runtime.storage import stage_directory


def create_skill(
    name: str, parent: Path, description: str = "", *, runtime: Runtime | None = None, language: Language = "en"
) -> Path:
    """Create the directory of a new skill and return its skill file; with `runtime` it has a working program."""
    name = normalize_name(name)
    files = render_files(name, description, runtime, language)
    for wrong in parse_skill(files[FILE_NAME].encode(), mode="strict", directory_name=name).diagnostics:
        raise ValidationFailed(wrong.message, hint=wrong.hint)
    path = parent / name
    if os.path.lexists(path):
        raise ValidationFailed(f"{quote(str(path))} is there already", hint="choose another name, or another `--dir`")
    parent.mkdir(parents=True, exist_ok=True)
    with stage_directory(path, mode=0o755) as draft:  # fails where something was put there meanwhile
        write_files(draft, files)
    return path / FILE_NAME


def write_files(directory: Path, files: Mapping[str, str]) -> None:
    """Write the files of a new skill into its directory; programs in the shell are executable."""
    for name, text in files.items():
        file = directory / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        if text.startswith("#!"):
            file.chmod(0o755)


def next_commands(name: str, directory: Path, runtime: Runtime | None, *, source: Path | None = None) -> list[str]:
    """Return the commands to try next; `source` is the parent directory if skills are not discovered there."""
    task = f"Use ${name} on my task"
    commands = [] if source is not None else [f"skills-runtime run {shlex.quote(task)}"]
    if runtime is None:
        return [f"skills-runtime skills validate {shlex.quote(str(directory))}", *commands]
    template = PROGRAMS[runtime]
    sample = shlex.quote(json.dumps(template.sample, ensure_ascii=False))
    origin = f" --from {shlex.quote(str(source))}" if source is not None else ""
    return [
        f"skills-runtime skills exec {name}{origin} --input {sample}",
        *commands,
        template.test_command.format(directory=shlex.quote(str(directory))),
    ]
