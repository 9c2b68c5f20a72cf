"""Every call becomes facts: commands, files, typed text, and tools that only declare their effect."""

from collections.abc import Mapping
from typing import Any

import pytest

from skills_runtime.ports import Effect, FileTouch, Intent, ToolSpec, Touch
from skills_runtime.safety.guard import Facts, assess


def spec(effect: Effect = "effectful", name: str = "a_tool") -> ToolSpec:
    return ToolSpec(name=name, description="", parameters={}, effect=effect)


def facts(effect: Effect = "effectful", **intent: Any) -> Facts:
    return assess(spec(effect), Intent(**intent))


def touching(path: str, touch: Touch, diff: str = "") -> Facts:
    return facts(files=(FileTouch(path=path, touch=touch, diff=diff),))


@pytest.mark.parametrize(("effect", "level"), [("read", "low"), ("idempotent", "low"), ("effectful", "medium")])
@pytest.mark.parametrize("intent", [None, Intent()])
def test_a_tool_that_says_no_more_is_judged_by_its_effect(effect: Effect, level: str, intent: Intent | None) -> None:
    found = assess(spec(effect), intent)
    assert (found.risk.level, found.effect, found.unclear) == (level, effect, "")


def test_a_line_is_read() -> None:
    found = facts(line="echo a > b; curl https://example.org", skill="a.b", hosts=("other.example",))
    assert [command.words[0] for command in found.commands] == ["echo", "curl"]
    assert (found.writes, found.hosts, found.skill) == (("b",), ("other.example", "example.org"), "a.b")
    assert found.risk.level == "medium"


def test_a_harmless_line_is_low_whatever_its_tool_can_do() -> None:
    assert facts(line="ls").risk.level == "low"


def test_a_program_is_read() -> None:
    assert facts(argv=("bash", "-c", "rm -rf /")).risk.reason == "deletes a whole tree"


def test_where_a_command_starts_is_kept() -> None:
    assert facts(line="ls", directory="sub").directory == "sub"


@pytest.mark.parametrize("typed", ["", "\x03", "\x04", "\n", "\x1b[A", "\x1b[1;5C\r"])
def test_keys_that_write_nothing_are_low(typed: str) -> None:
    found = facts(typed=typed)
    assert (found.risk.level, found.unclear) == ("low", "")


@pytest.mark.parametrize(("typed", "level"), [("y\n", "medium"), ("ls\n", "medium"), ("rm -rf /\n", "high")])
def test_typed_text_is_unclear_and_read_as_if_a_shell_got_it(typed: str, level: str) -> None:
    found = facts(typed=typed)
    assert found.unclear
    assert found.risk.level == level


def test_a_program_that_is_typed_can_be_denied() -> None:
    assert any(command.words[0] == "sudo" for command in facts(typed="sudo ls\n").commands)


@pytest.mark.parametrize(
    "environment",
    [
        {"LD_PRELOAD": "x"},
        {"PATH": "/tmp"},
        {"PYTHONPATH": "."},
        {"GIT_SSH_COMMAND": "x"},
        {"BASH_ENV": "x"},
        {"NODE_OPTIONS": "x"},
        {"GIT_PAGER": "./evil"},
        {"BASH_FUNC_ls%%": "() { x; }"},
        {"HOME": "/tmp"},
    ],
)
def test_a_variable_that_changes_programs_is_high(environment: Mapping[str, str]) -> None:
    found = facts(line="ls", environment=environment)
    assert (found.risk.level, found.risk.part) == ("high", next(iter(environment)))


def test_an_ordinary_variable_is_no_risk() -> None:
    assert facts(line="ls", environment={"DEBUG": "1", "GIT_PAGER": "cat"}).risk.level == "low"


def test_a_variable_of_the_call_is_known_in_its_line() -> None:
    assert facts(line="cat $TARGET", environment={"TARGET": "/etc/shadow"}).risk.level == "high"


def test_a_call_that_asks_for_more_is_at_least_medium() -> None:
    found = facts(line="ls", escalated=True, justification="because")
    assert (found.escalated, found.risk.level, found.risk.part) == (True, "medium", "because")


@pytest.mark.parametrize(
    ("path", "touch", "level"),
    [
        ("src/app.py", "create", "low"),
        ("src/app.py", "overwrite", "medium"),
        ("src/app.py", "change", "medium"),
        ("src/app.py", "delete", "medium"),
        ("src/app.py", "read", "low"),
        ("Makefile", "create", "medium"),
        ("package.json", "change", "medium"),
        ("/tmp/x", "create", "medium"),
        ("../x", "create", "medium"),
        ("a/../../x", "create", "medium"),
        ("/etc/passwd", "overwrite", "high"),
        ("../../../../../etc/passwd", "overwrite", "high"),
        (".git/hooks/pre-commit", "create", "high"),
        ("nested/.git/config", "change", "high"),
        (".bashrc", "create", "high"),
        (".envrc", "create", "high"),
        (".github/workflows/x.yml", "create", "high"),
        (".vscode/settings.json", "create", "high"),
        (".mcp.json", "create", "high"),
        (".env", "read", "high"),
        (".env", "list", "low"),
        ("a/.env", "overwrite", "high"),
        ("~/.ssh/id_rsa", "read", "high"),
        (".skills_runtime_sdk/runs", "list", "high"),
        (".skills_runtime_sdk/x", "delete", "high"),
        ("docs/notes.md", "list", "low"),
        ("a\0b", "read", "high"),
    ],
)
def test_a_file_is_judged_by_where_it_is_and_what_becomes_of_it(path: str, touch: Touch, level: str) -> None:
    assert touching(path, touch).risk.level == level


def test_the_worst_file_of_a_patch_counts() -> None:
    found = facts(files=(FileTouch(path="a.py", touch="create"), FileTouch(path=".git/hooks/x", touch="create")))
    assert (found.risk.level, found.risk.part) == ("high", ".git/hooks/x")


def test_many_files_at_once_are_high() -> None:
    many = tuple(FileTouch(path=f"src/{number}.py", touch="change") for number in range(40))
    assert facts(files=many).risk.reason == "changes many files at once"


def test_many_deletions_at_once_are_high() -> None:
    many = tuple(FileTouch(path=f"src/{number}.py", touch="delete") for number in range(8))
    assert facts(files=many).risk.reason == "deletes many files at once"


def test_a_change_too_large_to_review_is_high_risk() -> None:
    assert touching("src/a.py", "change", "x" * 300_000).risk.level == "high"


def test_reading_many_files_is_no_change() -> None:
    many = tuple(FileTouch(path=f"src/{number}.py", touch="read") for number in range(100))
    assert facts("read", files=many).risk.level == "low"


@pytest.mark.parametrize(
    "name",
    ["HGRCPATH", "PSQLRC", "GEM_HOME", "FZF_DEFAULT_OPTS", "AWKPATH", "ANSIBLE_CONFIG", "GOTOOLCHAIN", "MYPYPATH"],
)
def test_a_variable_by_which_a_program_finds_its_code_is_of_high_risk(name: str) -> None:
    assert facts(line="ls", environment={name: "./x"}).risk.level == "high"


@pytest.mark.parametrize("name", ["R_COUNT", "GERMAN", "STACK_SIZE", "HGX", "MY_GEM_PATH", "HGPLAIN"])
def test_a_variable_that_only_looks_like_one_is_not(name: str) -> None:
    assert facts(line="ls", environment={name: "./x"}).risk.level == "low"
