"""Rule files: from YAML to rules, each checked against its own examples."""

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any, get_args

from skills_runtime.safety.guard.facts import LEVELS
from skills_runtime.safety.policy.commands import marked_pattern
from skills_runtime.safety.policy.document import Entries, Items, Node, Text, parse_document, refusal
from skills_runtime.safety.policy.examples import check_examples, parse_examples
from skills_runtime.safety.policy.rule import ANY_WORDS, END, ONE_WORD, Rule
from skills_runtime.safety.policy.verdict import SafetyMode

MAX_RULES = 1000
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._:/-]{0,79}")
PATTERNS = ("tool", "command", "path", "host", "skill")
KEYS = ("name", "effect", *PATTERNS, "risk", "justification", "match", "not_match")
_HOST = re.compile(r"\*|(\*\.)?[\w-]+(\.[\w-]+)*\.?|[0-9A-Fa-f:]+")


def load_rules(text: str, *, origin: str) -> tuple[Rule, ...]:
    """The rules of a file; `origin` says in errors and decisions which file that is."""
    found = rule_items(parse_document(text, origin), origin)
    if found is None:
        return ()
    if len(found.values) > MAX_RULES:
        raise refusal(origin, found.line, f"there are more than {MAX_RULES} rules", "use patterns that cover more")
    lines: dict[str, int] = {}
    rules: list[Rule] = []
    for item in found.values:
        rule = _rule(item, origin)
        if rule.name in lines:
            raise refusal(
                origin,
                item.line,
                f"a rule named `{rule.name}` already stands on line {lines[rule.name]}",
                "give each rule a name of its own",
            )
        lines[rule.name] = item.line
        rules.append(rule)
    return tuple(rules)


def rule_items(document: Node | None, origin: str) -> Items | None:
    """The list of rules in a file: below `rules:`, or the file itself."""
    if isinstance(document, Entries):
        unknown = next((name for name in document.values if name != "rules"), None)
        if unknown is not None:
            line = document.values[unknown].line
            raise refusal(origin, line, f"`{unknown}` means nothing here", "a rule file has one key, `rules`")
        document = document.values.get("rules")
    if document is None or (isinstance(document, Text) and not document.value):
        return None
    if not isinstance(document, Items):
        raise refusal(origin, document.line, "this is not a list of rules", "write `rules:` and below it `- name: …`")
    return document


def _rule(item: Node, origin: str) -> Rule:
    if not isinstance(item, Entries):
        raise refusal(origin, item.line, "this is not a rule", "a rule is a mapping with `name`, `effect` and patterns")
    values = item.values
    for name, node in values.items():
        if name not in KEYS:
            import difflib

            near = difflib.get_close_matches(name, KEYS, n=1)
            meant = f"; did you mean `{near[0]}`?" if near else ""
            raise refusal(
                origin, node.line, f"a rule has no `{name}`{meant}", f"what a rule may have: {', '.join(KEYS)}"
            )
    rule = Rule(
        name=_name(item, origin),
        effect=_one_of(values.get("effect"), get_args(SafetyMode), "effect", item, origin),
        risk=_one_of(values["risk"], LEVELS, "risk", item, origin) if "risk" in values else None,
        justification=_text(values["justification"], "justification", origin) if "justification" in values else "",
        origin=origin,
        match=parse_examples(values.get("match"), origin),
        not_match=parse_examples(values.get("not_match"), origin),
        **{name: _patterns(name, values[name], origin) for name in PATTERNS if name in values},
    )
    _check_shape(rule, values, item.line, origin)
    check_examples(rule, values, origin)
    return rule


def _name(item: Entries, origin: str) -> str:
    node = item.values.get("name")
    if node is None:
        raise refusal(origin, item.line, "a rule without a name", "add `name:`; decisions are told by it")
    name = _text(node, "name", origin)
    if not NAME.fullmatch(name):
        raise refusal(
            origin, node.line, "this is not a usable name", "use up to 80 letters, digits, spaces and `. _ : / -`"
        )
    return name


def _text(node: Node, what: str, origin: str) -> str:
    if not isinstance(node, Text) or not node.value.strip():
        raise refusal(origin, node.line, f"`{what}` must be text", "write it on the same line, in quotes if need be")
    if not all(char.isprintable() or char in "\n\t" for char in node.value):
        raise refusal(origin, node.line, f"`{what}` has invisible characters", "write it without them")
    return node.value


def _one_of(node: Node | None, choices: tuple[Any, ...], what: str, item: Entries, origin: str) -> Any:
    if node is None or not isinstance(node, Text) or node.value not in choices:
        line = item.line if node is None else node.line
        raise refusal(origin, line, f"`{what}` must be one of {', '.join(choices)}", f"write `{what}: {choices[-1]}`")
    return node.value


def _patterns(what: str, node: Node, origin: str) -> tuple[Any, ...]:
    """One pattern, or a list of alternatives."""
    nodes = node.values if isinstance(node, Items) else [node]
    if not nodes:
        raise refusal(origin, node.line, f"`{what}` is an empty list", "leave it out, or name something")
    return tuple(_PARSERS[what](_text(one, what, origin), one.line, origin) for one in nodes)


def _command(text: str, line: int, origin: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError:  # a quote that nobody closed
        words = ()
    if not words:
        raise refusal(origin, line, "this is not the beginning of a command", "write words as in a shell")
    wild = [word for word in words if ONE_WORD in word and word != ONE_WORD]
    if wild and (wild != [ANY_WORDS] or words[-1] != ANY_WORDS or words == (ANY_WORDS,)):
        raise refusal(
            origin,
            line,
            f"`{wild[0]}` is not a word of a pattern",
            "`*` stands for one whole word, `**` at the end for any further words",
        )
    if text.split()[-1] == words[-1] == END:
        if len(words) == 1:
            raise refusal(origin, line, "this is not the beginning of a command", "write words before the `$`")
        return words
    return marked_pattern(words)


def _path(text: str, line: int, origin: str) -> str:
    if ".." in text.split("/"):
        raise refusal(
            origin, line, f"`{text}` leads upwards", "name the place from the top of the workspace, or with /"
        )
    if text.startswith("!") or "\\" in text or "\n" in text:
        raise refusal(origin, line, f"`{text}` is not a pattern for paths", "use names, `/`, `*`, `**`, `?` and `[…]`")
    if text.startswith("~") and not text.startswith("~/"):
        raise refusal(origin, line, f"`{text}` names another user's home", "write the whole path")
    return text


def _host(text: str, line: int, origin: str) -> str:
    if not _HOST.fullmatch(text):
        raise refusal(origin, line, f"`{text}` is not a host", "write `example.com` or `*.example.com`")
    return text


def _glob(text: str, line: int, origin: str) -> str:
    if any(char.isspace() for char in text):
        raise refusal(origin, line, f"`{text}` has a space in it", "write a list for several names")
    return text


_PARSERS: Mapping[str, Callable[[str, int, str], Any]] = {
    "tool": _glob, "command": _command, "path": _path, "host": _host, "skill": _glob,
}  # fmt: skip


def _check_shape(rule: Rule, values: Mapping[str, Node], line: int, origin: str) -> None:
    """A rule that would be about everything is a mode, and is set there."""
    if not any(name in values for name in PATTERNS) and (rule.effect == "allow" or rule.risk is None):
        raise refusal(
            origin,
            line,
            f"the rule `{rule.name}` does not say what it is about",
            "add `tool`, `command`, `path`, `host` or `skill`; `safety.mode` is for everything",
        )
    for pattern in rule.command if rule.effect == "allow" else ():
        if pattern[0] == ONE_WORD:
            raise refusal(
                origin,
                values["command"].line,
                f"the rule `{rule.name}` would allow every program",
                "begin the pattern with the name of a program",
            )
