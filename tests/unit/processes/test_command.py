import shutil
import subprocess
from pathlib import Path

import pytest

from skills_runtime.errors import AccessRefused, NotFound, ValidationFailed
from skills_runtime.processes import Command, Limits, shell_command
from skills_runtime.processes.command import MAX_REQUEST, check_command, find_program

PATH = {"PATH": "/usr/bin:/bin"}


def program(path: Path, *, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\necho here\n")
    path.chmod(mode)
    return path


def test_a_shell_command_is_never_run_by_a_login_shell() -> None:
    shell, flag, text = shell_command("echo $0; shopt -q login_shell && echo login")
    assert Path(shell).name in ("bash", "sh")
    assert flag == "-c"
    answer = subprocess.run((shell, flag, text), capture_output=True, text=True, check=False)
    assert answer.stdout.strip() == shell


@pytest.mark.parametrize("text", ["-x", "--version", "+o posix"])
def test_a_shell_command_that_looks_like_an_option_is_still_a_command(text: str) -> None:
    answer = subprocess.run(shell_command(text), capture_output=True, text=True, check=False)
    assert answer.returncode == 127
    assert "not found" in answer.stderr


def test_the_representation_hides_environment_and_input() -> None:
    command = Command(("a", "b"), Path("/tmp"), {"KEY": "hunter2"}, b"hunter3")
    assert repr(command) == "Command(argv=('a', 'b'), cwd='/tmp')"


def test_the_limits_have_the_documented_defaults() -> None:
    assert Limits(5) == Limits(wall_seconds=5, output_bytes=1 << 20, grace_seconds=2.0, total_bytes=None)


@pytest.mark.parametrize("argv", [(), ("",)])
def test_a_command_without_a_program_is_refused(argv: tuple[str, ...]) -> None:
    with pytest.raises(ValidationFailed, match="needs a program"):
        check_command(Command(argv, Path("/"), PATH))


def test_a_nul_byte_in_an_argument_is_refused() -> None:
    with pytest.raises(ValidationFailed, match="the argument 1 holds a NUL byte"):
        check_command(Command(("echo", "a\0b"), Path("/"), PATH))


def test_a_nul_byte_in_a_variable_is_refused_without_telling_its_value() -> None:
    with pytest.raises(ValidationFailed, match="variable `'KEY'` holds a NUL byte") as refusal:
        check_command(Command(("echo",), Path("/"), {"KEY": "secret\0"}))
    assert "secret" not in str(refusal.value)


def test_a_nul_byte_in_the_working_directory_is_refused() -> None:
    with pytest.raises(ValidationFailed, match="working directory holds a NUL byte"):
        check_command(Command(("echo",), Path("/a\0b"), PATH))


@pytest.mark.parametrize("name", ["", "A=B", "="])
def test_what_cannot_name_a_variable_is_refused(name: str) -> None:
    with pytest.raises(ValidationFailed, match="not the name of an environment variable"):
        check_command(Command(("echo",), Path("/"), {name: "x"}))


def test_characters_that_no_system_has_are_refused() -> None:
    with pytest.raises(ValidationFailed, match="argument 1 holds characters"):
        check_command(Command(("echo", "\ud800"), Path("/"), PATH))


def test_more_arguments_than_any_system_accepts_are_refused() -> None:
    with pytest.raises(ValidationFailed, match="longer than the system accepts"):
        check_command(Command(("echo", *["x" * 1000] * (MAX_REQUEST // 1000)), Path("/"), PATH))


def test_a_program_is_found_on_the_path_of_the_command(tmp_path: Path) -> None:
    here = program(tmp_path / "bin" / "tool")
    assert find_program(Command(("tool",), tmp_path, {"PATH": f"/nowhere:{here.parent}"})) == str(here)


def test_the_first_program_on_the_path_wins(tmp_path: Path) -> None:
    first, second = program(tmp_path / "a" / "tool"), program(tmp_path / "b" / "tool")
    assert find_program(Command(("tool",), tmp_path, {"PATH": f"{first.parent}:{second.parent}"})) == str(first)


def test_a_file_that_is_not_executable_is_passed_over(tmp_path: Path) -> None:
    first, second = program(tmp_path / "a" / "tool", mode=0o644), program(tmp_path / "b" / "tool")
    assert find_program(Command(("tool",), tmp_path, {"PATH": f"{first.parent}:{second.parent}"})) == str(second)


def test_without_a_path_the_usual_places_are_searched(tmp_path: Path) -> None:
    assert find_program(Command(("sh",), tmp_path, {})) == shutil.which("sh", path="/bin:/usr/bin")


def test_an_empty_element_of_the_path_is_not_the_working_directory(tmp_path: Path) -> None:
    program(tmp_path / "tool")
    with pytest.raises(NotFound, match="`tool` is not a program on PATH"):
        find_program(Command(("tool",), tmp_path, {"PATH": ":/usr/bin:"}))


def test_a_relative_program_is_relative_to_the_working_directory(tmp_path: Path) -> None:
    here = program(tmp_path / "sub" / "tool")
    assert Path(find_program(Command(("./tool",), here.parent, PATH))) == here


def test_an_unknown_program_is_not_found() -> None:
    with pytest.raises(NotFound, match="`foo-bar-baz` is not a program on PATH"):
        find_program(Command(("foo-bar-baz",), Path("/"), PATH))


def test_a_path_to_nothing_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"the program `\./nothing` does not exist"):
        find_program(Command(("./nothing",), tmp_path, PATH))


def test_a_file_that_is_not_executable_is_refused(tmp_path: Path) -> None:
    program(tmp_path / "tool", mode=0o644)
    with pytest.raises(AccessRefused, match="not executable"):
        find_program(Command(("./tool",), tmp_path, PATH))


def test_a_directory_is_not_a_program(tmp_path: Path) -> None:
    with pytest.raises(AccessRefused, match="not executable"):
        find_program(Command((str(tmp_path),), tmp_path, PATH))


def test_a_missing_working_directory_is_reported_first(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"working directory `.*gone` does not exist"):
        find_program(Command(("./tool",), tmp_path / "gone", PATH))
