"""A new skill works before anything is edited: its program, its schemas, its test, in both languages."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from skills_runtime.errors import ValidationFailed
from skills_runtime.skills.create import create_skill, next_commands
from skills_runtime.skills.standard.directories import inspect_directory
from skills_runtime.skills.templates import PROGRAMS, Language, Runtime, choose_language


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("runtime", [None, "python", "node", "shell"])
def test_a_new_skill_is_valid(tmp_path: Path, runtime: Runtime | None, language: Language) -> None:
    file = create_skill("csv-summary", tmp_path, runtime=runtime, language=language)
    inspected = inspect_directory(file.parent, mode="strict")
    assert inspected.diagnostics == ()
    assert (inspected.run.runtime if inspected.run else None) == runtime
    assert any(ord(character) > 0x4E00 for character in file.read_text()) is (language == "zh")


@pytest.mark.parametrize("runtime", ["python", "node", "shell"])
def test_the_test_of_a_new_skill_passes_and_notices_a_broken_program(tmp_path: Path, runtime: Runtime) -> None:
    directory = create_skill("csv-summary", tmp_path, runtime=runtime).parent
    command = shlex.split(next_commands("csv-summary", directory, runtime)[-1])
    passed = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert passed.returncode == 0, passed.stderr
    (directory / PROGRAMS[runtime].file).write_text("")
    assert subprocess.run(command, capture_output=True, timeout=60, check=False).returncode != 0


@pytest.mark.parametrize("runtime", ["python", "node", "shell"])
def test_the_sample_fits_the_input_schema(tmp_path: Path, runtime: Runtime) -> None:
    directory = create_skill("csv-summary", tmp_path, runtime=runtime).parent
    schema = json.loads((directory / "input.schema.json").read_text())
    assert set(PROGRAMS[runtime].sample) == set(schema["required"]) == set(schema["properties"])


def test_a_name_that_is_taken_changes_nothing(tmp_path: Path) -> None:
    file = create_skill("csv-summary", tmp_path, "Mine.")
    with pytest.raises(ValidationFailed, match="there already"):
        create_skill("csv-summary", tmp_path, runtime="python")
    assert [path.name for path in tmp_path.iterdir()] == ["csv-summary"]
    assert [path.name for path in file.parent.iterdir()] == ["SKILL.md"]


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LC_MESSAGES": "zh_TW", "LANG": "en_US.UTF-8"}, "zh"),
    ],
)
def test_the_language_is_that_of_the_shell(environ: dict[str, str], language: Language) -> None:
    assert choose_language(environ) == language
