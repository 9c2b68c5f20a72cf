"""Models and tools cannot speak to the terminal: what they write is shown, never obeyed."""

from pathlib import Path

import pytest

from tests.e2e.cli.programs import Answer, invoke, say, write, write_config

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b1m\u202eevil\r\x08"
HARMFUL = set("\x1b\x07\x08\x9b\u202e\r")


def harmful(answer: Answer) -> set[str]:
    return HARMFUL & set(answer.out + answer.err)


@pytest.fixture
def hostile(workspace: Path) -> Path:
    """A run full of escape sequences: in its task, its calls, its results and its answer."""
    calls = (write(f"deliverables/{ESCAPES}"), (f"rm{ESCAPES}", {"path": ESCAPES}), ("file_read", {"path": ESCAPES}))
    write_config(workspace, say(ESCAPES, *calls), say(f"done {ESCAPES} 完成"))
    answer = invoke("run", f"Title {ESCAPES}", "--config", "kgent.yaml", "--sandbox", "r")
    assert answer.code == 0, answer.err
    assert not harmful(answer)
    assert answer.out == r"done \x1b]0;owned\x07\x1b[2J\x1b[31m\x9b1m\u202eevil\r\x08 完成" + "\n"
    return workspace


@pytest.mark.parametrize(
    "arguments", [("runs", "show", "./r"), ("runs", "tail", "./r"), ("runs", "list"), ("transcript", "./r")]
)
def test_looking_at_a_hostile_run_is_harmless(hostile: Path, arguments: tuple[str, ...]) -> None:
    answer = invoke(*arguments)
    assert answer.code == 0
    assert "evil" in answer.out
    assert not harmful(answer)


def test_an_error_about_a_hostile_name_is_harmless(workspace: Path) -> None:
    answer = invoke("verify", f"./{ESCAPES}")
    assert answer.code == 22
    assert "evil" in answer.err
    assert not harmful(answer)


def test_the_log_for_programs_has_every_character_as_it_was(hostile: Path) -> None:
    log = (hostile / "r/events.jsonl").read_bytes()
    assert invoke("runs", "tail", "./r", "--json").out.encode() == log
