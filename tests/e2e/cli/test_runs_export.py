"""A run as one web page, from the command line."""

from pathlib import Path

import pytest

from tests.e2e.cli.programs import invoke


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    answer = invoke("demo", "--output", "out")
    assert answer.code == 0, answer.err
    return next((tmp_path / "out").iterdir())


def test_a_run_is_written_as_a_page_in_either_language(run: Path) -> None:
    answer = invoke("runs", "export", str(run), "--html", "page.html", "--lang", "zh")
    assert (answer.code, answer.out) == (0, "page.html\n"), answer.err
    text = Path("page.html").read_text()
    assert text.startswith("<!doctype html>")
    assert "交付物" in text
    again = invoke("runs", "export", str(run), "--html", "page.html")
    assert again.code != 0
    assert "already exists" in again.err


def test_a_page_is_all_that_is_written(run: Path) -> None:
    answer = invoke("runs", "export", str(run), "--html", "page.html", "--output", "run.tar.gz")
    assert answer.code == 2
    assert not Path("page.html").exists()
