"""Every example runs."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_prints_output(example: Path, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, example], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout
    assert list(tmp_path.iterdir()) == []


def test_examples_exist() -> None:
    assert EXAMPLES
