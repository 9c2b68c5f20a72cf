"""The decision: deny beats allow beats ask, for every tool, and what nobody understands is asked."""

from typing import Any, get_args

import pytest

from skills_runtime.ports import Effect
from skills_runtime.safety.guard import Facts, Risk
from skills_runtime.safety.policy import Allow, Ask, Deny, Rule, Rules, SafetyMode, explain
from tests.unit.safety.policy.calls import kind, shell, touching, verdict

EFFECTS = get_args(Effect)
HIGH = Risk(level="high", reason="deletes a whole tree")
GIT = Rule(name="git", effect="allow", command=(("git",),))


@pytest.mark.parametrize("effect", EFFECTS)
def test_mode_deny_denies_reading_tools_too(effect: Effect) -> None:
    assert verdict(Facts(tool="t", effect=effect), mode="deny", tool_allowlist=("t",)) == Deny("safety.mode: deny")


@pytest.mark.parametrize(("effect", "decision"), [("read", "Allow"), ("idempotent", "Ask"), ("effectful", "Ask")])
def test_mode_ask_asks_about_everything_but_reading(effect: Effect, decision: str) -> None:
    assert kind(Facts(tool="t", effect=effect)) == decision


@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("mode", get_args(SafetyMode))
def test_the_tool_denylist_beats_everything(effect: Effect, mode: SafetyMode) -> None:
    facts = Facts(tool="t", effect=effect)
    assert verdict(facts, mode=mode, tool_allowlist=("t",), tool_denylist=("t",)) == Deny("safety.tool_denylist")


def test_the_tool_allowlist_is_for_the_tool_it_names_only() -> None:
    assert verdict(Facts(tool="t"), tool_allowlist=("t",)) == Allow("safety.tool_allowlist")
    assert kind(Facts(tool="tt"), tool_allowlist=("t",)) == "Ask"


@pytest.mark.parametrize(
    ("facts", "rule"),
    [
        ({"unclear": "a quote is not closed"}, "built in: not understood"),
        ({"escalated": True}, "built in: more than the sandbox allows"),
        ({"risk": HIGH}, "built in: high risk"),
    ],
)
@pytest.mark.parametrize(
    "allowed", [{"mode": "allow"}, {"tool_allowlist": ("shell_command",)}, {"allowlist": ("git",)}]
)
def test_some_calls_are_asked_about_whatever_allows_them(
    facts: dict[str, Any], rule: str, allowed: dict[str, Any]
) -> None:
    decision = verdict(shell("git status", **facts), GIT, **allowed)
    assert isinstance(decision, Ask)
    assert decision.rule == rule
    assert decision.justification


def test_a_reading_tool_that_is_not_understood_is_asked_about() -> None:
    assert kind(Facts(tool="t", effect="read", unclear="who knows")) == "Ask"


def test_high_risk_passes_by_a_rule_that_says_so() -> None:
    rule = Rule(name="clean", effect="allow", command=(("rm", "-rf", "build"),), risk="high", justification="made anew")
    assert verdict(shell("rm -rf build", risk=HIGH), rule) == Allow("rule `clean`", "made anew")


def test_a_rule_for_high_risk_must_cover_the_whole_line_alone() -> None:
    rule = Rule(name="clean", effect="allow", command=(("rm", "-rf", "build"),), risk="high")
    assert kind(shell("rm -rf build", "ls", risk=HIGH), rule, allowlist=("ls",)) == "Ask"
    assert kind(shell("rm -rf build", writes=("x",), risk=HIGH), rule) == "Ask"


def test_a_rule_for_high_risk_does_not_pass_what_is_not_understood() -> None:
    rule = Rule(name="all", effect="allow", tool=("shell_command",), risk="high")
    assert kind(shell("git status", unclear="?"), rule) == "Ask"
    assert kind(shell("git status", escalated=True), rule) == "Ask"


def test_a_rule_for_low_risk_does_not_pass_medium() -> None:
    rule = Rule(name="git", effect="allow", command=(("git",),), risk="low")
    assert kind(shell("git status"), rule) == "Allow"
    assert kind(shell("git status", risk=Risk(level="medium")), rule) == "Ask"
    assert kind(shell("git status", risk=Risk(level="medium")), GIT) == "Allow"


def test_every_command_of_a_line_must_be_allowed() -> None:
    assert kind(shell("git status", "rm -r x"), allowlist=("git",)) == "Ask"
    assert verdict(shell("git status", "ls"), allowlist=("ls", "git status")) == Allow(
        "safety.allowlist: git status + safety.allowlist: ls"
    )


def test_a_wrapper_must_be_allowed_itself() -> None:
    line = shell("timeout 5 pytest", "pytest")
    assert kind(line, allowlist=("pytest",)) == "Ask"
    assert kind(line, allowlist=("pytest", "timeout")) == "Allow"


def test_one_denied_command_denies_the_line() -> None:
    assert verdict(shell("git status", "sudo ls"), mode="allow", allowlist=("git", "sudo"), denylist=("sudo",)) == Deny(
        "safety.denylist: sudo"
    )


def test_a_deny_rule_beats_every_allow() -> None:
    deny = Rule(name="no-push", effect="deny", command=(("git", "push"),), justification="people push")
    everything = {"allowlist": ("git",), "tool_allowlist": ("shell_command",), "mode": "allow"}
    assert verdict(shell("git push"), GIT, deny, **everything) == Deny("rule `no-push`", "people push")


def test_an_ask_rule_asks_in_mode_allow_and_gives_way_to_an_allow_rule() -> None:
    ask = Rule(name="look", effect="ask", command=(("git", "push"),))
    assert verdict(shell("git push"), ask, mode="allow") == Ask("rule `look`")
    assert kind(shell("git pull"), ask, mode="allow") == "Allow"
    assert kind(shell("git push"), ask, GIT) == "Allow"


def test_an_ask_rule_asks_about_reading() -> None:
    ask = Rule(name="look", effect="ask", tool=("file_read",), path=("private/**",))
    assert kind(touching("private/a", tool="file_read", touch="read", effect="read"), ask) == "Ask"
    assert kind(touching("public/a", tool="file_read", touch="read", effect="read"), ask) == "Allow"


def test_what_a_line_writes_needs_a_rule_with_a_path() -> None:
    line = shell("echo hi", writes=("out/a.txt",))
    assert kind(line, allowlist=("echo",)) == "Ask"
    assert kind(line, Rule(name="out", effect="allow", path=("out/**",)), allowlist=("echo",)) == "Allow"
    assert kind(line, Rule(name="out", effect="allow", path=("src/**",)), allowlist=("echo",)) == "Ask"


def test_a_write_with_an_unknown_name_is_never_allowed_by_a_path() -> None:
    out = Rule(name="out", effect="allow", path=("**",))
    assert kind(shell("echo hi", writes=(None,)), out, allowlist=("echo",)) == "Ask"


def test_writing_nowhere_needs_no_rule_and_is_none() -> None:
    assert kind(shell("echo hi", writes=("/dev/null",)), allowlist=("echo",)) == "Allow"
    assert kind(Facts(tool="shell_command", writes=("/dev/null",)), allowlist=("echo",)) == "Ask"


@pytest.mark.parametrize("moving", ["cd /etc", "pushd x", "env -C /etc echo hi", "$X y"])
def test_a_relative_write_behind_a_change_of_directory_is_not_allowed(moving: str) -> None:
    out = Rule(name="out", effect="allow", path=("out/**",))
    every = Rule(name="every", effect="allow", command=(("cd",), ("pushd",), ("env",), ("echo",)))
    assert kind(shell(moving, "echo hi", writes=("out/a",)), out, every) != "Allow"


def test_a_path_rule_allows_no_command() -> None:
    assert kind(shell("rm x"), Rule(name="out", effect="allow", path=("**",))) == "Ask"
    assert kind(shell("rm x", writes=("a",)), Rule(name="out", effect="allow", path=("**",))) == "Ask"


def test_every_file_of_a_call_must_be_covered() -> None:
    src = Rule(name="src", effect="allow", tool=("file_*", "apply_patch"), path=("src/**",))
    docs = Rule(name="docs", effect="allow", path=("docs/**",))
    assert kind(touching("src/a", "src/b/c"), src) == "Allow"
    assert kind(touching("src/a", "docs/b"), src) == "Ask"
    assert kind(touching("src/a", "docs/b"), src, docs) == "Allow"
    assert kind(touching("src/a", tool="delete_all"), src) == "Ask"


def test_a_rule_with_several_patterns_needs_all_of_them() -> None:
    rule = Rule(name="fetch", effect="allow", command=(("curl",),), host=("*.example.com",))
    assert kind(shell("curl https://a.example.com", hosts=("a.example.com",)), rule) == "Allow"
    assert kind(shell("curl https://evil.test", hosts=("evil.test",)), rule) == "Ask"
    assert kind(shell("curl x y", hosts=("a.example.com", "evil.test")), rule) == "Ask"
    assert kind(shell("curl"), rule) == "Ask"


def test_a_command_and_path_rule_allows_the_write_of_these_commands_only() -> None:
    rule = Rule(name="log", effect="allow", command=(("echo",),), path=("log/**",))
    assert kind(shell("echo hi", writes=("log/a",)), rule) == "Allow"
    assert kind(shell("echo hi", writes=("a",)), rule) == "Ask"
    assert kind(shell("echo hi"), rule) == "Ask"
    assert kind(shell("echo hi", "cat x", writes=("log/a",)), rule, allowlist=("cat",)) == "Ask"


def test_hosts_of_a_tool_without_commands_must_all_be_covered() -> None:
    rule = Rule(name="docs", effect="allow", tool=("fetch",), host=("docs.example.com",))
    assert kind(Facts(tool="fetch", hosts=("docs.example.com",)), rule) == "Allow"
    assert kind(Facts(tool="fetch", hosts=("docs.example.com", "x.test")), rule) == "Ask"
    assert kind(Facts(tool="other", hosts=("docs.example.com",)), rule) == "Ask"


def test_a_skill_rule_allows_the_actions_of_that_skill() -> None:
    rule = Rule(name="writer", effect="allow", skill=("web:mvp.*",))
    run = shell("python write.py")
    assert kind(Facts(tool="skill_exec", skill="web:mvp.writer", commands=run.commands), rule) == "Allow"
    assert kind(Facts(tool="skill_exec", skill="other.writer", commands=run.commands), rule) == "Ask"
    assert kind(run, rule) == "Ask"


def test_a_deny_rule_looks_for_its_paths_in_the_words_of_commands() -> None:
    deny = Rule(name="secret", effect="deny", path=("secrets/**",))
    for line in ("cat secrets/key", "cat ./x/../secrets/key", "git show HEAD:secrets/key", "tar --file=secrets/a c"):
        assert kind(shell(line), deny, mode="allow") == "Deny", line
    assert kind(shell("cat public/key"), deny, mode="allow") == "Allow"


def test_a_path_that_a_deny_rule_might_mean_is_asked_about() -> None:
    deny = Rule(name="secret", effect="deny", path=("secrets/**",))
    assert verdict(shell("cat $X"), deny, mode="allow") == Ask("rule `secret` cannot be ruled out")
    assert kind(shell("echo hi", writes=(None,)), deny, mode="allow") == "Deny"


def test_a_deny_rule_by_risk_alone_denies_from_that_risk_on() -> None:
    deny = Rule(name="calm", effect="deny", risk="medium")
    assert kind(shell("ls"), deny, mode="allow") == "Allow"
    assert kind(shell("ls", risk=Risk(level="medium")), deny, mode="allow") == "Deny"
    assert kind(shell("ls", risk=HIGH), deny, mode="allow") == "Deny"


def test_an_allow_rule_without_patterns_allows_nothing() -> None:
    assert kind(Facts(tool="t"), Rule(name="x", effect="allow")) == "Ask"


def test_an_explanation_shows_every_part_and_what_allows_it() -> None:
    out = Rule(name="out", effect="allow", path=("out/**",), origin="rules.yaml")
    told = explain(shell("git status", "rm x", writes=("out/a", "b")), Rules(allowlist=("git status",), rules=(out,)))
    assert [(part.kind, part.text, part.allowed_by) for part in told.parts] == [
        ("command", "git status", "safety.allowlist: git status"),
        ("command", "rm x", ""),
        ("write", "out/a", "rule `out` (rules.yaml)"),
        ("write", "b", ""),
    ]
    assert told.verdict == Ask("safety.mode: ask")
