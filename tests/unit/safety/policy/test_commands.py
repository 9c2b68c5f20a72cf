"""Which commands a pattern means: strictly to allow, loosely to stop."""

import pytest

from skills_runtime.safety.policy import Rule
from tests.unit.safety.policy.calls import kind, shell


@pytest.mark.parametrize(
    ("entry", "line", "allowed"),
    [
        ("git", "git", True),
        ("git", "git status --short", True),
        ("git status", "git status --short", True),
        ("git status", "git  status", True),
        ("git status", "git stat", False),
        ("git status", "git", False),
        ("git stat", "git status", False),
        ("git", "gitk", False),
        ("git", "/usr/bin/git status", True),
        ("git", "/usr/local/bin/git status", True),
        ("git", "/usr/bin/../../tmp/git status", False),
        ("git", "/usr/bin//git status", False),
        ("git", "/tmp/git status", False),
        ("git", "./git status", False),
        ("git", "bin/git status", False),
        ("git", "GIT status", False),
        ("./gradlew", "./gradlew test", True),
        ("./gradlew", "gradlew test", False),
        ("./gradlew", "/x/gradlew test", False),
        ("/opt/x", "/opt/x a", True),
        ("git status", "git -C /x status", False),
        ("git status", "git status $X", False),
        ("git", "git $X", False),
        ("git", "$X status", False),
        ("echo *", "echo hi", False),
        ("echo **", "echo hi $X", True),
        ("echo **", "$X hi", False),
        ("**", "rm x", False),
    ],
)
def test_the_allowlist_means_beginnings_of_whole_words(entry: str, line: str, allowed: bool) -> None:
    assert kind(shell(line), allowlist=(entry,)) == ("Allow" if allowed else "Ask")


@pytest.mark.parametrize(
    ("entry", "line", "denied"),
    [
        ("sudo", "sudo ls", True),
        ("sudo", "/usr/bin/sudo ls", True),
        ("sudo", "./sudo ls", True),
        ("sudo", "SUDO ls", True),
        ("sudo", "sudoers", False),
        ("sudo", "echo sudo", False),
        ("git push", "git push --force", True),
        ("git push", "git -C /x push", True),
        ("git push", "git --no-pager push", True),
        ("git push", "git commit -m push", False),
        ("git push", "git $X", True),
        ("git push", "git pull $X", False),
        ("git push", "git -c $X pull", True),
        ("git push", "$X", True),
        ("git push", "git", False),
        ("rm -rf", "rm -rf x", True),
        ("./deploy", "./deploy now", True),
        ("./deploy", "./x/../deploy now", True),
        ("'unclosed", "unclosed", False),
    ],
)
def test_the_denylist_means_what_a_command_could_be(entry: str, line: str, denied: bool) -> None:
    assert kind(shell(line), mode="allow", denylist=(entry,)) == ("Deny" if denied else "Allow")


@pytest.mark.parametrize(
    ("pattern", "line", "allowed"),
    [
        (("git", "*", "--short"), "git status --short x", True),
        (("git", "*", "--short"), "git status", False),
        (("git", "*"), "git $X", False),
        (("git", "*"), "git", False),
        (("echo", "**"), "echo $X y", True),
        (("echo", "**"), "echo", True),
        (("git", "log", "**"), "git $X", False),
        (("git", "log", "**"), "git log $X", True),
        (("*",), "rm x", False),
        (("**",), "rm x", False),
        ((), "rm x", False),
    ],
)
def test_a_pattern_allows_what_it_surely_means(pattern: tuple[str, ...], line: str, allowed: bool) -> None:
    assert kind(shell(line), Rule(name="r", effect="allow", command=(pattern,))) == ("Allow" if allowed else "Ask")


@pytest.mark.parametrize(
    ("pattern", "line", "denied"),
    [
        (("*", "--force"), "git --force", True),
        (("*", "--force"), "git push", False),
        (("git", "*", "--force"), "git push --force", True),
        (("git", "push", "**"), "git push", True),
        (("git", "push"), "git -c a=b --no-pager push", True),
    ],
)
def test_a_pattern_stops_what_it_may_mean(pattern: tuple[str, ...], line: str, denied: bool) -> None:
    rule = Rule(name="r", effect="deny", command=(pattern,))
    assert kind(shell(line), rule, mode="allow") == ("Deny" if denied else "Allow")


def test_a_very_long_command_is_decided_soon() -> None:
    line = " ".join(["git", *["-c"] * 20_000])
    assert kind(shell(line), mode="allow", denylist=("git push now",)) == "Allow"
