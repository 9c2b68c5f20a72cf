"""Where a line goes is put before the paths that follow, to stop it; and never to allow it."""

import pytest

from skills_runtime.ports import Intent, ToolSpec
from skills_runtime.safety.guard import assess
from skills_runtime.safety.policy import PolicyDecision, Rule, Rules, decide
from skills_runtime.safety.policy.commands import MAX_DIRECTORIES, find_directories

SHELL = ToolSpec(name="shell_command", description="", parameters={})
DEEP = Rule(effect="deny", name="deep", path=("a/b/c/**",))


def verdict(line: str, *rules: Rule, mode: str = "allow", directory: str = ".") -> PolicyDecision:
    facts = assess(SHELL, Intent(line=line, directory=directory))
    return decide(facts, Rules(rules=rules, mode=mode, root="/home/user/ws", home="/home/user"))  # pyright: ignore[reportArgumentType]


def kind(line: str, *rules: Rule, mode: str = "allow", directory: str = ".") -> str:
    return type(verdict(line, *rules, mode=mode, directory=directory)).__name__


@pytest.mark.parametrize(
    "line",
    [
        "cd a && cd b && cat c/x",
        "cd a; (cd b; cat c/x)",
        "cd x; cd ../a/b; cat c/x",
        "cd && cd ws/a && cat b/c/x",
        "make -C a -f b/c/x",
        "make -Ca -f b/c/x",
        "tar cC a b/c",
        "tar -C a -C b -c c",
        "tar --direc=a -c b/c",
        "env --chdir=a bash -c 'cd b; cat c/x'",
        "git --work-tree=a show b/c/x",
        "cd a && cat /proc/self/cwd/b/c/x",
        "cd /proc/self/cwd/a && cat b/c/x",
        "cat ../../../proc/self/cwd/a/b/c/x",
        "cat /proc/self/root/home/user/ws/a/b/c/x",
        "cat /proc/self/task/7/cwd/a/b/c/x",
    ],
)
def test_a_denied_path_is_found_from_wherever_the_line_has_gone(line: str) -> None:
    assert kind(line, DEEP) == "Deny"


@pytest.mark.parametrize(
    "line", ["cd a && cat c/x", "cd b && cat a/c/x", "make -C a && cat c/x", "cat /proc/self/stat"]
)
def test_other_paths_are_not_denied(line: str) -> None:
    assert kind(line, DEEP) == "Allow"


def test_the_first_step_is_taken_from_where_the_call_starts() -> None:
    assert kind("cd b && cat c/x", DEEP, directory="a") == "Deny"


def test_the_place_of_an_option_holds_only_for_what_that_program_runs() -> None:
    line = " && ".join(f"make -C place{number}" for number in range(20))
    assert len(find_directories(assess(SHELL, Intent(line=line)))) == 21


def test_a_line_that_goes_to_too_many_places_is_asked_about() -> None:
    line = "; ".join(f"cd place{number}" for number in range(60))
    found = verdict(line)
    assert (type(found).__name__, found.rule) == ("Ask", "built in: not understood")
    assert len(find_directories(assess(SHELL, Intent(line=line)))) <= 4 * MAX_DIRECTORIES


def test_the_configuration_of_the_next_run_is_found_behind_a_step() -> None:
    facts = assess(SHELL, Intent(line="cd /home/user; echo x > other.yaml"))
    rules = Rules(mode="allow", root="/home/user/ws", consent=("/home/user/other.yaml",))
    assert decide(facts, rules).rule == "built in: configuration of the next run"


def test_a_path_behind_a_step_is_covered_by_no_allow_rule() -> None:
    rule = Rule(effect="allow", name="out", command=(("cd",), ("echo",), ("tar",)), path=("out/**",))
    assert kind("echo x > out/a", rule, mode="ask") == "Allow"
    assert kind("cd sub; echo x > out/a", rule, mode="ask") == "Ask"
    assert kind("tar xCf sub a.tar > out/a", rule, mode="ask") == "Ask"


@pytest.mark.parametrize("line", ["sort -osecret/x y", "sort -uosecret/x y", "grep -fsecret/x y", "dd if=secret/x"])
def test_a_value_that_is_glued_to_an_option_is_a_path(line: str) -> None:
    assert kind(line, Rule(effect="deny", name="no", path=("secret/**",))) == "Deny"
