"""A program started without a shell: words are what they say, and only shells read them."""

import pytest

from skills_runtime.safety.guard import program_name, read_argv


@pytest.mark.parametrize(
    ("argv", "level", "unclear"),
    [
        (["ls", "-la"], "low", False),
        (["echo", "$(rm -rf /)"], "low", False),
        (["echo", ";", "rm", "-rf", "/"], "low", False),
        (["echo", ">", "/etc/passwd"], "low", False),
        (["cat", "*"], "low", False),
        (["rm", "-rf", "/"], "high", False),
        (["bash", "-lc", "rm -rf /"], "high", False),
        (["bash", "-lc", "echo hi\ngit status"], "low", False),
        (["env", "-i", "sh", "-c", "rm -rf ~"], "high", False),
        (["/usr/bin/sudo", "ls"], "high", False),
        (["sh", "-c", "$x"], "medium", True),
        (["python", "-c", "print(1)"], "medium", True),
        (["find", ".", "-delete"], "high", False),
        (["./run.sh"], "medium", False),
        (["cat", "/etc/shadow"], "high", False),
    ],
)
def test_a_program_without_a_shell_is_judged(argv: list[str], level: str, unclear: bool) -> None:
    reading = read_argv(argv)
    assert (reading.risk.level, bool(reading.unclear)) == (level, unclear)


def test_the_words_are_the_arguments() -> None:
    (command,) = read_argv(["git", "commit", "-m", "a b $c"]).commands
    assert command.words == ("git", "commit", "-m", "a b $c")


def test_code_of_a_shell_is_opened_up() -> None:
    assert [command.words[0] for command in read_argv(["sh", "-c", "a | b > c"]).commands] == ["sh", "a", "b"]
    assert read_argv(["sh", "-c", "a | b > c"]).writes == ("c",)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("git", "git"),
        ("/usr/bin/git", "git"),
        ("/bin/rm", "rm"),
        ("./git", "./git"),
        ("bin/git", "bin/git"),
        ("/tmp/git", "/tmp/git"),
        ("/usr/bin/../../tmp/git", "/usr/bin/../../tmp/git"),
        ("//usr/bin/git", "//usr/bin/git"),
    ],
)
def test_only_a_path_into_a_system_directory_is_as_good_as_a_name(word: str, name: str) -> None:
    assert program_name(word) == name
