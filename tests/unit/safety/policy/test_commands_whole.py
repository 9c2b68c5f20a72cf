"""A command pattern that ends in `$` means the whole command."""

import pytest

from skills_runtime.errors import ConfigError
from skills_runtime.safety.policy import END, Rule, load_rules, render_rule
from tests.unit.safety.policy.calls import kind, shell


def loaded(pattern: str) -> tuple[str, ...]:
    (rule,) = load_rules(f"rules:\n  - name: a\n    effect: deny\n    command: {pattern}\n", origin="f")
    return rule.command[0]


@pytest.mark.parametrize(
    ("pattern", "line", "allowed"),
    [
        (("make", END), "make", True),
        (("make", END), "/usr/bin/make", True),
        (("make", END), "make deploy", False),
        (("make", END), "make $X", False),
        (("rm", "*", END), "rm a", True),
        (("rm", "*", END), "rm a b", False),
        ((END,), "make", False),
        (("echo", "x", "\\$"), "echo x", False),
    ],
)
def test_nothing_may_follow_what_is_allowed(pattern: tuple[str, ...], line: str, allowed: bool) -> None:
    assert kind(shell(line), Rule(name="r", effect="allow", command=(pattern,))) == ("Allow" if allowed else "Ask")


@pytest.mark.parametrize(
    ("line", "denied"),
    [
        ("git push", True),
        ("git -C x push", True),
        ("git push $X", True),
        ("git push origin", False),
        ("git push -v", False),
        ("$X", True),
    ],
)
def test_what_may_be_the_whole_command_is_stopped(line: str, denied: bool) -> None:
    rule = Rule(name="r", effect="deny", command=(("git", "push", END),))
    assert kind(shell(line), rule, mode="allow") == ("Deny" if denied else "Allow")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("git push $", ("git", "push", END)),
        ("\"grep '$'\"", ("grep", "\\$")),
        ('"grep \\\\$"', ("grep", "\\$")),
        ("grep '$' $", ("grep", "$", END)),
        ("grep $ x", ("grep", "$", "x")),
        ("grep a$", ("grep", "a$")),
    ],
)
def test_only_a_last_bare_word_is_the_end(written: str, words: tuple[str, ...]) -> None:
    assert loaded(written) == words


@pytest.mark.parametrize("written", ["$", "git ** $"])
def test_an_end_without_a_command_is_refused(written: str) -> None:
    with pytest.raises(ConfigError):
        loaded(written)


@pytest.mark.parametrize(
    "words",
    [
        ("make", END),
        ("grep", "\\$"),
        ("grep", "\\\\$"),
        ("grep", "$", END),
        ("grep", "\\$", END),
        ("grep", "$", "x"),
        ("grep", "a$"),
        ("grep", "a b", "*", END),
    ],
)
def test_a_rule_is_read_as_it_was_written(words: tuple[str, ...]) -> None:
    rule = Rule(name="a", effect="deny", command=(words,), origin="f")
    assert load_rules(f"rules:\n{render_rule(rule)}", origin="f") == (rule,)


def test_a_dollar_that_was_quoted_is_the_word_itself() -> None:
    facts = shell("grep x")
    facts = type(facts)(tool="t", commands=(type(facts.commands[0])(words=("grep", "$", "x"), text="grep '$' x"),))
    assert kind(facts, Rule(name="a", effect="deny", command=(loaded("\"grep '$'\""),)), mode="allow") == "Deny"


def test_examples_know_the_end() -> None:
    text = "rules:\n  - name: a\n    effect: allow\n    command: make $\n    match: make\n    not_match: make deploy\n"
    assert load_rules(text, origin="f")[0].command == (("make", END),)
