"""Texts that are too long, too deep or not text at all are unclear, and never more than that."""

import pytest

from skills_runtime.safety.guard import read_argv, read_line


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("echo a\0b", "control characters"),
        ("echo a\rb", "control characters"),
        ("echo a\x1b[2K", "control characters"),
        ("echo " + "a" * 70_000, "too long"),
        ("echo \u202ecba", "cannot be seen"),
        ("ls\u200b", "cannot be seen"),
        ("echo \ud800", "cannot be seen"),
        ("(" * 5_000, "too tangled"),
        ("a=(" * 5_000, "too tangled"),
    ],
)
def test_a_text_that_hides_something_is_not_read(line: str, reason: str) -> None:
    reading = read_line(line)
    assert reason in reading.unclear
    assert reading.risk.level == "medium"


def test_a_name_that_looks_like_another_is_unclear() -> None:
    assert read_line("\u0455udo ls").unclear


@pytest.mark.parametrize(
    "line",
    [
        "( " * 400 + "ls" + " )" * 400,
        "$(" * 400 + "ls" + ")" * 400,
        "echo " + '"$(echo ' * 200 + "x" + ')"' * 200,
        "{ " * 300 + "ls; " + "}; " * 300,
        "if a; then " * 200 + "b" + "; fi" * 200,
        "a && " * 8_000 + "b",
        "a | " * 900 + "sh",
        "env " * 16_000 + "ls",
        "eval " * 10_000 + "ls",
        "bash -c " * 5_000 + "ls",
        "x " * 30_000,
        "\\" * 60_000,
        "'a'" * 20_000,
        "f() { f; };" * 150,
        "a=1;" * 15_000 + "echo $a",
        "sed '" + " " * 30_000 + "e'",
        "awk '>" + "print " * 10_000 + "'",
        "echo {" + "," * 30_000,
        "cat " + "*a" * 20_000,
        "curl ://" + "a." * 30_000,
        "cat <<E\n" + "$x\n" * 15_000 + "E",
        "psql -c '" + "COPY " * 10_000 + "'",
        "[[ a =~ (" * 400,
        "${" * 900,
        "<<a " * 450,
    ],
    ids=lambda line: line[:16],
)
def test_a_large_line_is_read_or_given_up_without_harm(line: str) -> None:
    reading = read_line(line)
    assert reading.commands or reading.unclear


def test_code_inside_of_code_is_followed_only_so_far() -> None:
    assert "nested too deep" in read_line("eval " * 40 + "ls").unclear


def test_wrappers_are_followed_only_so_far() -> None:
    reading = read_line("env " * 100 + "ls")
    assert "too deep" in reading.unclear


@pytest.mark.parametrize("argv", [[], [""], ["a\0b"], ["ls", "\ud800"], ["ls", "a" * 70_000]])
def test_a_program_that_cannot_be_started_is_unclear(argv: list[str]) -> None:
    assert read_argv(argv).unclear
