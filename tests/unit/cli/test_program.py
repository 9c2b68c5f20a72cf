"""The edge of the process: every error is a sentence, a kind, a hint and an exit code."""

import errno
import os
from pathlib import Path

import pytest

from skills_runtime.cli.program import PipeClosed, Program, UsageError, run_guarded
from skills_runtime.errors import EXIT_CODES, NotFound, ToolError


def code_of(error: Exception, *, debug: bool = False) -> int:
    def work() -> int:
        raise error

    return run_guarded(work, Program("kgent", debug))


def test_the_exit_code_of_work_that_ends_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_guarded(lambda: 7, Program("kgent")) == 7
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("kind", EXIT_CODES)
def test_every_kind_of_error_has_its_exit_code(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(ToolError(kind, "it broke", hint="mend it")) == EXIT_CODES[kind]
    assert capsys.readouterr().err == f"error: it broke\n  kind: {kind}\n  hint: mend it\n"


def test_a_message_of_several_lines_becomes_one(capsys: pytest.CaptureFixture[str]) -> None:
    code_of(NotFound("no\nsuch \x1b[31mrun", hint="look\nelsewhere"))
    assert capsys.readouterr().err == ("error: no such \\x1b[31mrun\n  kind: not_found\n  hint: look elsewhere\n")


def test_an_unknown_error_is_one_sentence_and_exit_code_23(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(ZeroDivisionError("division by zero")) == 23
    told = capsys.readouterr().err
    assert told.startswith("error: unexpected error: ZeroDivisionError: division by zero\n")
    assert "  kind: unknown\n" in told
    assert "Traceback" not in told


def test_a_traceback_is_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(ZeroDivisionError("division by zero"), debug=True) == 23
    assert "Traceback (most recent call last):\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "code"),
    [(errno.EACCES, 21), (errno.EROFS, 21), (errno.ENOENT, 22), (errno.ENOSPC, 23), (errno.ENAMETOOLONG, 20)],
)
def test_an_error_of_the_operating_system_is_reported_in_our_words(
    number: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(OSError(number, os.strerror(number), "here")) == code
    assert f"error: the operating system refused: `here`: {os.strerror(number)}\n" in capsys.readouterr().err


def test_a_current_directory_that_is_gone_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert code_of(OSError(errno.ENOENT, os.strerror(errno.ENOENT))) == 22
    assert "error: the current directory does not exist any more\n" in capsys.readouterr().err


def test_a_closed_pipe_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(PipeClosed()) == 141
    assert capsys.readouterr() == ("", "")


def test_misuse_exits_2_and_names_the_page_to_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(UsageError("one or the other")) == 2
    assert capsys.readouterr().err == (
        "error: one or the other\n  kind: usage\n  hint: `kgent --help` shows the usage\n"
    )
