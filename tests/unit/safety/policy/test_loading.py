"""Rule files: what they may say, and what is told about those that say something else."""

import textwrap

import pytest

from skills_runtime.errors import ConfigError
from skills_runtime.safety.policy import Example, Rule, load_rules, render_rule

WHOLE = """
# our rules
rules:
  - name: no-push
    effect: deny
    tool: [shell_*, exec_command]
    command:
      - git push
      - hg "push it"
    justification: people push
  - name: write-src
    effect: allow
    path: src/**
    risk: medium
    match: {tool: file_write, path: src/a.py}
    not_match:
      - {tool: file_write, path: [src/a.py, b.py]}
      - {tool: file_write, path: src/../b.py}
  - {name: hosts, effect: ask, host: ["*.example.com", 10.0.0.1], skill: web:mvp.*}
"""


def test_a_rule_file_is_read_whole() -> None:
    push, write, hosts = load_rules(WHOLE, origin="rules.yaml")
    assert push == Rule(
        name="no-push",
        effect="deny",
        tool=("shell_*", "exec_command"),
        command=(("git", "push"), ("hg", "push it")),
        justification="people push",
        origin="rules.yaml",
    )
    assert (write.path, write.risk) == (("src/**",), "medium")
    assert write.match == (Example(tool="file_write", path=("src/a.py",)),)
    assert (hosts.host, hosts.skill) == (("*.example.com", "10.0.0.1"), ("web:mvp.*",))
    assert push.label == "rule `no-push` (rules.yaml)"


@pytest.mark.parametrize("text", ["", "# nothing\n", "rules:\n", "rules: []\n", "rules: null\n", "---\n"])
def test_a_file_without_rules_has_none(text: str) -> None:
    assert load_rules(text, origin="f") == ()


def test_a_list_alone_is_a_rule_file_too() -> None:
    (rule,) = load_rules("- {name: a, effect: deny, tool: b}", origin="f")
    assert rule.tool == ("b",)


def test_values_stay_the_text_they_were_written_as() -> None:
    (rule,) = load_rules("- {name: yes, effect: deny, command: 007 no, host: 1.10}", origin="f")
    assert (rule.name, rule.command, rule.host) == ("yes", (("007", "no"),), ("1.10",))


RULE = "- name: r\n  effect: {effect}\n  "
DENY, ALLOW = RULE.format(effect="deny"), RULE.format(effect="allow")
WRONG = {
    "broken YAML": ("rules: [\n}", 2, "not YAML"),
    "another key": ("rules: []\nother: 1", 2, "`other` is not a key of a rule file"),
    "no list": ("rules: text", 1, "not a list of rules"),
    "text for a rule": ("- git", 1, "not a rule"),
    "no name": ("- effect: deny\n  tool: a", 1, "without a name"),
    "an odd name": ("- name: '`x`'\n  effect: deny\n  tool: a", 1, "not a usable name"),
    "no effect": ("- name: r\n  tool: a", 1, "`effect` must be one of allow, ask, deny"),
    "another effect": ("- name: r\n  effect: maybe\n  tool: a", 2, "`effect` must be one of"),
    "an unknown key": (DENY + "comand: git", 3, "a rule has no `comand`; did you mean `command`?"),
    "a wrong type": (DENY + "command: {a: b}", 3, "`command` must be text"),
    "an empty value": (DENY + "tool:", 3, "`tool` must be text"),
    "an empty list": (DENY + "tool: []", 3, "`tool` is an empty list"),
    "an unknown risk": (DENY + "risk: extreme", 3, "`risk` must be one of low, medium, high"),
    "the same key twice": (DENY + "tool: a\n  tool: b", 4, "`tool` appears twice"),
    "the same name twice": (DENY + "tool: a\n" + DENY + "tool: b", 4, "already stands on line 1"),
    "nothing it is about": (DENY.rstrip(), 1, "does not say what it is about"),
    "allowing by risk alone": (ALLOW + "risk: low", 1, "does not say what it is about"),
    "allowing every program": (ALLOW + "command: '* x'", 3, "would allow every program"),
    "half a wildcard": (DENY + "command: git pu*", 3, "`pu*` is not a word of a pattern"),
    "a wildcard in the middle": (DENY + "command: git ** x", 3, "`**` is not a word of a pattern"),
    "only a wildcard": (DENY + "command: '**'", 3, "is not a word of a pattern"),
    "an open quote": (DENY + "command: git 'x", 3, "not the beginning of a command"),
    "a path upwards": (DENY + "path: a/../../b", 3, "leads out of its directory"),
    "a negated path": (DENY + "path: '!a'", 3, "not a pattern for paths"),
    "another's home": (DENY + "path: ~root/x", 3, "another user's home"),
    "a URL for a host": (DENY + "host: https://a.example", 3, "is not a host"),
    "a tool with a space": (DENY + "tool: a b", 3, "has a space in it"),
    "an alias": ("- &a {name: r, effect: deny, tool: a}\n- *a", 2, "aliases are not supported"),
    "two documents": ("rules: []\n---\nrules: []", 3, "a second document"),
    "deep nesting": ("rules: " + "[" * 50 + "]" * 50, 1, "nested too deeply"),
    "a key that is no text": ("? [a]\n: b", 1, "a key is not text"),
    "invisible text": (DENY + 'tool: a\n  justification: "a\\u202eb"', 4, "invisible characters"),
    "no example": (DENY + "tool: a\n  match: [{}]", 4, "not an example"),
    "an example of something": (DENY + "tool: a\n  match: {argv: x}", 4, "not an example"),
    "a number of rules": ("\n".join(f"- {{name: r{n}, effect: deny, tool: a}}" for n in range(1001)), 1, "1000 rules"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_reported_with_its_line_and_a_hint(name: str) -> None:
    text, line, words = WRONG[name]
    with pytest.raises(ConfigError) as caught:
        load_rules(text, origin="rules.yaml")
    assert caught.value.message.startswith(f"`rules.yaml` line {line}: ")
    assert words in caught.value.message
    assert caught.value.hint


def test_an_example_that_does_not_fit_is_reported_with_rule_example_and_line() -> None:
    text = textwrap.dedent("""\
        rules:
          - name: src
            effect: allow
            path: src/**
            match:
              - {tool: file_write, path: src/a}
              - {tool: file_write, path: lib/a}
        """)
    with pytest.raises(ConfigError) as caught:
        load_rules(text, origin="rules.yaml")
    assert caught.value.message == (
        "`rules.yaml` line 7: the rule `src` does not match its example: no pattern fits every part"
        " (`file_write lib/a`)"
    )


LINES = """
- name: look
  effect: allow
  command: [git status, git log, cat]
  match: [git status --short, "git log | cat", "cat a 2>/dev/null", {tool: exec_command, command: [git, log]}]
  not_match: [git push, "git log > out", "git status; rm x", "cat $X", "git log --output=x $(rm -rf /)"]
- name: no-root
  effect: deny
  tool: "*"
  command: sudo
  match: [sudo ls, "bash -c 'echo x; /usr/bin/sudo ls'", env A=b sudo -u x ls]
  not_match: [echo sudo]
"""


def test_examples_may_be_command_lines() -> None:
    look, _ = load_rules(LINES, origin="f")
    assert look.match[0] == Example(line="git status --short")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("git push", "no pattern fits every part (`git push`)"),
        ("git log > out", "no pattern fits every part (`git log > out`)"),
        ("git log $(", "built in: not understood"),
    ],
)
def test_a_command_line_that_does_not_fit_is_reported(line: str, why: str) -> None:
    text = f"- {{name: look, effect: allow, command: git log, match: '{line}'}}"
    with pytest.raises(ConfigError) as caught:
        load_rules(text, origin="f")
    assert f"the rule `look` does not match its example: {why}" in caught.value.message


def test_an_example_that_should_not_fit_and_does_is_reported() -> None:
    text = "- {name: a, effect: deny, host: '*.example.com', not_match: {tool: t, host: a.example.com}}"
    with pytest.raises(ConfigError, match="the rule `a` matches what it says it does not"):
        load_rules(text, origin="f")


def test_an_example_is_decided_by_the_rule_alone_and_what_is_built_in() -> None:
    text = "- {name: a, effect: allow, path: '**', match: {tool: file_write, path: .skills_runtime_sdk/x}}"
    with pytest.raises(ConfigError, match="does not match its example: built in: the runtime's own state"):
        load_rules(text, origin="f")


@pytest.mark.parametrize(
    "rule",
    [
        *load_rules(WHOLE, origin="f"),
        Rule(name="a", effect="allow", command=(("git", "*", "it's", "a b"), ("echo", "**")), origin="f"),
        Rule(name="null", effect="deny", tool=("true",), justification="a: b # c\n\nd", risk="high", origin="f"),
    ],
    ids=lambda rule: rule.name,
)
def test_a_rule_written_down_is_read_as_the_same_rule(rule: Rule) -> None:
    assert load_rules(render_rule(rule), origin="f") == (rule,)
