"""Where a command starts is part of what it does."""

import pytest

from skills_runtime.ports import Intent, ToolSpec
from skills_runtime.safety.guard import assess
from skills_runtime.safety.policy import Allow, Ask, Deny, Rule, Rules, decide

SHELL = ToolSpec(name="shell_command", description="", parameters={})
RULES = Rules(mode="allow", allowlist=("cat", "echo"), root="/work")


def verdict(line: str, directory: str, rules: Rules = RULES) -> type:
    return type(decide(assess(SHELL, Intent(line=line, directory=directory)), rules))


@pytest.mark.parametrize(
    "directory", [".skills_runtime_sdk/runs/r", "a/../.skills_runtime_sdk", "x/.skills_runtime_sdk"]
)
def test_no_command_starts_in_the_runtime_s_own_state(directory: str) -> None:
    assert verdict("cat events.jsonl", directory) is Deny


def test_configuration_is_asked_about_from_its_own_directory_too() -> None:
    assert verdict("echo x > runtime.yaml", "config") is Ask


def test_a_rule_about_a_directory_holds_for_commands_that_start_there() -> None:
    rules = Rules(mode="allow", root="/work", rules=(Rule(effect="deny", name="no", path=("secrets/**",)),))
    assert verdict("cat a", "secrets", rules) is Deny
    assert verdict("cat a", "other", rules) is Allow


def test_a_path_that_a_rule_allows_is_not_that_path_from_elsewhere() -> None:
    rules = Rules(allowlist=("echo",), root="/work", rules=(Rule(effect="allow", name="out", path=("./out.txt",)),))
    assert verdict("echo x > out.txt", ".", rules) is Allow
    assert verdict("echo x > out.txt", "other", rules) is Ask
