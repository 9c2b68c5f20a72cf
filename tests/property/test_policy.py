"""What holds for every call and every set of rules."""

from typing import Any, get_args

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.ports import Effect, FileTouch
from skills_runtime.ports.people import Touch
from skills_runtime.safety.guard import LEVELS, Facts, Risk, SimpleCommand
from skills_runtime.safety.policy import (
    Allow,
    Ask,
    Deny,
    Rule,
    RuleEffect,
    Rules,
    SafetyMode,
    automatic,
    decide,
    explain,
)

WORDS = st.sampled_from(["git", "push", "rm", "-rf", "-C", "src/a", "/usr/bin/git", "./git", "x", "secrets/a", "kgent"])
PATHS = st.sampled_from(["src/a", "src/../x", "secrets/a", "/etc/x", "~/x", "a", "kgent.yaml", ".skills_runtime_sdk/x"])
PATH_PATTERNS = st.sampled_from(["src/**", "**", "*.py", "secrets/", "/etc/**", "~/x", "a"])
HOSTS = st.sampled_from(["example.com", "a.example.com", "evil.test"])
HOST_PATTERNS = st.sampled_from(["example.com", "*.example.com", "*"])
TOOLS = st.sampled_from(["shell_command", "file_write", "file_read", "other"])
TOOL_PATTERNS = st.sampled_from(["shell_command", "file_*", "*"])
SKILLS = st.sampled_from(["", "web.writer"])
ENTRIES = st.sampled_from(["git", "git push", "rm -rf", "x", "./git"])
PATTERN_WORDS = st.sampled_from(["git", "push", "rm", "*", "x", "-rf"])


def some(strategy: st.SearchStrategy[Any], most: int = 2) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=most).map(tuple)


def command_of(words: list[str | None]) -> SimpleCommand:
    return SimpleCommand(words=tuple(words), text=" ".join(word or "$X" for word in words))


COMMANDS = st.lists(st.none() | WORDS, min_size=1, max_size=4).map(command_of)
FACTS = st.builds(
    Facts,
    tool=TOOLS,
    effect=st.sampled_from(get_args(Effect)),
    commands=some(COMMANDS, 3),
    writes=some(st.none() | PATHS),
    files=some(st.builds(FileTouch, path=PATHS, touch=st.sampled_from(get_args(Touch)))),
    hosts=some(HOSTS),
    skill=SKILLS,
    escalated=st.booleans(),
    approval=st.sampled_from([None, None, "pass", "ask"]),
    contained=st.booleans(),
    unclear=st.sampled_from(["", "", "", "who knows"]),
    risk=st.builds(Risk, level=st.sampled_from(LEVELS)),
)
EFFECTS = get_args(RuleEffect)
MODES = get_args(SafetyMode)
BUILT_IN_RULES = {
    automatic.READS_WORKSPACE,
    automatic.WRITES_WORKSPACE,
    automatic.READING_COMMAND,
    automatic.RUNS_IN_SANDBOX,
    automatic.RUNTIME_TOOL,
}


def rules_with(*effects: str) -> st.SearchStrategy[Rule]:
    return st.builds(
        Rule,
        effect=st.sampled_from(effects),
        name=st.sampled_from(["one", "two", "three"]),
        tool=some(TOOL_PATTERNS),
        command=some(st.lists(PATTERN_WORDS, min_size=1, max_size=3).map(tuple)),
        path=some(PATH_PATTERNS),
        host=some(HOST_PATTERNS),
        skill=some(st.sampled_from(["web.*", "web.writer"])),
        risk=st.none() | st.sampled_from(LEVELS),
    )


RULES = st.builds(
    Rules,
    mode=st.sampled_from(MODES),
    allowlist=some(ENTRIES),
    denylist=some(ENTRIES),
    tool_allowlist=some(TOOLS),
    tool_denylist=some(TOOLS, 1),
    rules=some(rules_with(*EFFECTS), 4),
    root=st.sampled_from(["", "/home/user/ws"]),
    home=st.sampled_from(["", "/home/user"]),
    sandboxed=st.booleans(),
)
RANK = {Deny: 0, Ask: 1, Allow: 2}


def rank(facts: Facts, rules: Rules) -> int:
    return RANK[type(decide(facts, rules))]


@given(facts=FACTS, rules=RULES, rule=rules_with("deny"), data=st.data())
def test_adding_a_deny_rule_never_allows_more(facts: Facts, rules: Rules, rule: Rule, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(rules.rules)))
    more = msgspec.structs.replace(rules, rules=(*rules.rules[:index], rule, *rules.rules[index:]))
    assert rank(facts, more) <= rank(facts, rules)


@given(facts=FACTS, rules=RULES, rule=rules_with("ask"), data=st.data())
def test_adding_an_ask_rule_never_allows_more(facts: Facts, rules: Rules, rule: Rule, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(rules.rules)))
    more = msgspec.structs.replace(rules, rules=(*rules.rules[:index], rule, *rules.rules[index:]))
    assert rank(facts, more) <= rank(facts, rules)


@given(facts=FACTS, rules=RULES, entry=ENTRIES)
def test_adding_to_the_denylist_never_allows_more(facts: Facts, rules: Rules, entry: str) -> None:
    more = msgspec.structs.replace(rules, denylist=(*rules.denylist, entry))
    assert rank(facts, more) <= rank(facts, rules)


@given(facts=FACTS, rules=RULES, rule=rules_with("allow"))
def test_adding_an_allow_rule_never_denies_more(facts: Facts, rules: Rules, rule: Rule) -> None:
    more = msgspec.structs.replace(rules, rules=(*rules.rules, rule))
    assert rank(facts, more) >= rank(facts, rules)


@given(facts=FACTS, rules=RULES, data=st.data())
def test_the_order_of_rules_does_not_decide(facts: Facts, rules: Rules, data: st.DataObject) -> None:
    shuffled = msgspec.structs.replace(rules, rules=tuple(data.draw(st.permutations(rules.rules))))
    assert rank(facts, shuffled) == rank(facts, rules)


@given(facts=FACTS, rules=RULES)
def test_every_allow_names_rules_that_exist(facts: Facts, rules: Rules) -> None:
    verdict = decide(facts, rules)
    assert verdict.rule
    if isinstance(verdict, Allow):
        rule_names: set[str] = {
            *(rule.label for rule in rules.rules if rule.effect == "allow"),
            *(f"safety.allowlist: {entry}" for entry in rules.allowlist),
            *(["safety.tool_allowlist"] if facts.tool in rules.tool_allowlist else []),
            *(["safety.mode: allow"] if rules.mode == "allow" else []),
            *(["safety.mode: ask lets tools read"] if rules.mode == "ask" and facts.effect == "read" else []),
            *(BUILT_IN_RULES if rules.mode == "auto" else ()),
            *(["built in: function of this program"] if facts.approval == "pass" else []),
        }
        assert set(verdict.rule.split(" + ")) <= rule_names


@given(facts=FACTS, rules=RULES, command=COMMANDS)
def test_one_more_command_never_allows_more(facts: Facts, rules: Rules, command: SimpleCommand) -> None:
    """A call without a command is another matter: its hosts need a rule of their own."""
    more = msgspec.structs.replace(facts, commands=(*facts.commands, command))
    if facts.commands:
        assert rank(more, rules) <= rank(facts, rules)


@given(facts=FACTS, rules=RULES)
def test_what_must_be_asked_is_never_allowed(facts: Facts, rules: Rules) -> None:
    contained = rules.mode == "auto" and rules.sandboxed and facts.contained
    if facts.escalated or facts.risk.level == "high" or (facts.unclear and not contained):
        decision = decide(facts, msgspec.structs.replace(rules, rules=()))
        assert not isinstance(decision, Allow)


@given(facts=FACTS, rules=RULES)
def test_without_a_sandbox_auto_decides_like_ask(facts: Facts, rules: Rules) -> None:
    auto = msgspec.structs.replace(rules, mode="auto", sandboxed=False)
    assert rank(facts, auto) == rank(facts, msgspec.structs.replace(rules, mode="ask"))


@given(facts=FACTS, rules=RULES)
def test_a_stricter_mode_never_allows_more(facts: Facts, rules: Rules) -> None:
    facts = msgspec.structs.replace(facts, unclear="")  # which the sandbox contains, and mode `allow` asks about
    by_mode = [
        rank(facts, msgspec.structs.replace(rules, mode=mode, sandboxed=True))
        for mode in ("allow", "auto", "ask", "deny")
    ]
    assert by_mode == sorted(by_mode, reverse=True)


@given(facts=FACTS, rules=RULES)
def test_an_explanation_is_the_decision(facts: Facts, rules: Rules) -> None:
    explanation = explain(facts, rules)
    assert explanation.verdict == decide(facts, rules)
    assert explanation.parts


@given(
    text=st.text(max_size=30),
    words=st.lists(st.none() | st.text(max_size=10), max_size=4),
    paths=st.lists(st.text(max_size=15), max_size=3),
    rules=RULES,
)
def test_any_text_is_decided(text: str, words: list[str | None], paths: list[str], rules: Rules) -> None:
    facts = Facts(
        tool=text,
        commands=(SimpleCommand(words=tuple(words), text=text),),
        writes=tuple(paths),
        files=tuple(FileTouch(path=path, touch="read") for path in paths),
        hosts=tuple(paths),
        skill=text,
    )
    given_rule = Rule(name="r", effect="ask", path=(text or "x",), host=(text or "x",), tool=(text or "x",))
    assert isinstance(
        decide(facts, msgspec.structs.replace(rules, rules=(*rules.rules, given_rule))), Allow | Ask | Deny
    )
