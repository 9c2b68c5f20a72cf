"""Load rule files: from YAML with line numbers to rules, each checked against its own examples."""

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast, get_args

import msgspec

from skills_runtime.errors import ConfigError
from skills_runtime.ports import FileTouch
from skills_runtime.safety.guard import Facts, Reading, read_argv, read_line
from skills_runtime.safety.guard.facts import LEVELS
from skills_runtime.safety.policy.commands import escape_end
from skills_runtime.safety.policy.decide import BY_MODE, decide, may_apply
from skills_runtime.safety.policy.patterns import Anchor, matches_tool
from skills_runtime.safety.policy.rule import ANY_WORDS, END, ONE_WORD, Allow, Example, Rule, RuleEffect, Rules
from skills_runtime.text import one_line, printable

if TYPE_CHECKING:
    import yaml

MAX_DEPTH = 8
MAX_CHARS = 1_048_576


class Text(msgspec.Struct, frozen=True):
    """A scalar; a plain null is empty text."""

    value: str
    line: int


class Items(msgspec.Struct, frozen=True):
    """A list."""

    values: "list[Node]"
    line: int
    column: int = 0
    flow: bool = False


class Entries(msgspec.Struct, frozen=True):
    """A mapping."""

    values: "dict[str, Node]"
    line: int
    flow: bool = False


Node = Text | Items | Entries


def rule_error(origin: str, line: int, problem: str, hint: str) -> ConfigError:
    """Build the error that names a line of a rule file."""
    return ConfigError(f"`{origin}` line {line}: {problem}", hint=hint, origin=origin, line=line)


def parse_document(text: str, origin: str) -> Node | None:
    """Parse the single document of a text; None when it is empty."""
    import yaml

    if len(text) > MAX_CHARS:
        raise ConfigError(f"`{origin}` is longer than {MAX_CHARS} characters", hint="make it smaller")
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    parse = cast("Callable[..., Iterable[yaml.Event]]", yaml.parse)  # pyright: ignore[reportUnknownMemberType]
    try:
        documents = _build_documents(parse(text.removeprefix("\ufeff"), Loader=loader), origin)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        problem = f"this is not YAML: {printable(str(reason), replacement=' ')}"
        raise rule_error(origin, mark.line + 1 if mark else 1, problem, "correct the file at that place") from None
    if len(documents) > 1:
        raise rule_error(origin, documents[1].line, "a second document begins here", "write all rules into one list")
    return documents[0] if documents else None


def _build_documents(events: "Iterable[yaml.Event]", origin: str) -> list[Node]:
    import yaml

    documents: list[Node] = []
    stack: list[_Container] = [_Container(Items(documents, 1))]
    for event in events:
        mark = cast("yaml.Mark", event.start_mark)
        line = mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            plain = event.implicit[0] and event.value in ("null", "~", "Null", "NULL")
            stack[-1].add(Text("" if plain else event.value, line), origin)
        elif isinstance(event, yaml.AliasEvent):
            raise rule_error(origin, line, "YAML aliases are not supported", "write the value out")
        elif isinstance(event, yaml.CollectionStartEvent):
            flow = bool(event.flow_style)
            inner = (
                Entries({}, line, flow)
                if isinstance(event, yaml.MappingStartEvent)
                else Items([], line, mark.column, flow)
            )
            stack[-1].add(inner, origin)
            stack.append(_Container(inner))
            if len(stack) > MAX_DEPTH:
                raise rule_error(origin, line, "this is nested too deeply", "a rule is a mapping of texts and lists")
        elif isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
    return documents


class _Container:
    """A list or a mapping under construction."""

    def __init__(self, node: Items | Entries) -> None:
        self._node = node
        self._key: Text | None = None

    def add(self, item: Node, origin: str) -> None:
        """Add the next item; in a mapping keys and values alternate."""
        if isinstance(self._node, Items):
            self._node.values.append(item)
        elif self._key is not None:
            self._node.values[self._key.value], self._key = item, None
        elif not isinstance(item, Text):
            raise rule_error(origin, item.line, "a key is not text", "write `name: value`")
        elif item.value in self._node.values:
            raise rule_error(origin, item.line, f"the key `{item.value}` appears twice", "keep one of them")
        else:
            self._key = item


COMMAND_TOOLS = ("shell_command", "shell", "shell_exec", "exec_command", "write_stdin", "skill_exec")
PATTERNS = ("tool", "command", "path", "host", "skill")
"""Fields that a rule may match, and that an example may have."""
_ROOT, _HOME = "/workspace", "/home/user"
"""The workspace and home of examples."""


def parse_examples(node: Node | None, origin: str) -> tuple[Example, ...]:
    """Parse the examples below `match` or `not_match`."""
    return tuple(_parse_example(item, origin) for item in example_nodes(node))


def example_nodes(node: Node | None) -> list[Node]:
    """Return each example node of the file; a single one needs no list."""
    if node is None:
        return []
    return node.values if isinstance(node, Items) else [node]


def _parse_example(node: Node, origin: str) -> Example:
    if isinstance(node, Text) and node.value.strip():
        return Example(line=node.value)
    if not isinstance(node, Entries) or not node.values or not node.values.keys() <= set(PATTERNS):
        raise rule_error(
            origin,
            node.line,
            "this is not an example",
            f"write a command line, or a mapping of {', '.join(KEYS)}",
        )
    values = node.values
    command = values.get("command")
    return Example(
        line=_parse_example_text(command, origin) if isinstance(command, Text) else "",
        argv=_parse_example_texts(command, origin) if isinstance(command, Items) else (),
        tool=_parse_example_text(values["tool"], origin) if "tool" in values else "",
        path=_parse_example_texts(values.get("path"), origin),
        host=_parse_example_texts(values.get("host"), origin),
        skill=_parse_example_text(values["skill"], origin) if "skill" in values else "",
    )


def _parse_example_texts(node: Node | None, origin: str) -> tuple[str, ...]:
    return tuple(_parse_example_text(item, origin) for item in example_nodes(node))


def _parse_example_text(node: Node, origin: str) -> str:
    if not isinstance(node, Text) or not node.value:
        raise rule_error(origin, node.line, "an example needs text here", "put the value in quotes")
    return node.value


def check_examples(rule: Rule, values: Mapping[str, Node], origin: str) -> None:
    """Raise if a rule does not match its examples as declared."""
    for key, examples in (("match", rule.match), ("not_match", rule.not_match)):
        for example, node in zip(examples, example_nodes(values.get(key)), strict=True):
            mismatch = _explain_mismatch(rule, example)
            if (mismatch == "") != (key == "match"):
                outcome = f"does not match its example: {mismatch}" if mismatch else "matches what it says it does not"
                words = (
                    example.line, " ".join(example.argv), example.tool, *example.path, *example.host, example.skill
                )  # fmt: skip
                summary = one_line(" ".join(filter(None, words)), limit=120)
                problem = f"the rule `{rule.name}` {outcome} (`{summary}`)"
                raise rule_error(origin, node.line, problem, "correct the pattern or the example")


def _explain_mismatch(rule: Rule, example: Example) -> str:
    """Return why the rule alone does not decide on the example; empty when it does."""
    facts = build_example_facts(example, rule)
    base = Anchor(_ROOT, _HOME)
    if rule.effect != "allow":
        return "" if may_apply(rule, facts, base) else "no pattern fits"
    decision = decide(facts, Rules(rules=(rule,), root=_ROOT, home=_HOME, sandboxed=True))
    if isinstance(decision, Allow):
        return ""
    return "no pattern fits every part" if decision.rule == BY_MODE else decision.rule


def build_example_facts(example: Example, rule: Rule) -> Facts:
    """Build the facts of an example, as the rules see a call."""
    reading = read_line(example.line) if example.line else read_argv(example.argv) if example.argv else Reading()
    # For an example that names no tool, one that the rule is about.
    default_tools = COMMAND_TOOLS if example.line or example.argv else ("file_write",)
    matching_tools = (tool for tool in default_tools if not rule.tool or matches_tool(rule.tool, tool))
    return Facts(
        tool=example.tool or next(matching_tools, rule.tool[0] if rule.tool else default_tools[0]),
        commands=reading.commands,
        writes=reading.writes,
        reads=reading.reads,
        files=tuple(FileTouch(path=path, touch="change") for path in example.path),
        hosts=(*reading.hosts, *example.host),
        skill=example.skill,
        skill_digest=rule.digest[0] if rule.digest else "",
        unclear=reading.unclear,
        risk=reading.risk,
    )


MAX_RULES = 1000
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._:/-]{0,79}")
KEYS = ("name", "effect", *PATTERNS, "digest", "risk", "folder", "justification", "match", "not_match")
_DIGEST = re.compile("[0-9a-f]{64}")
_HOST = re.compile(r"\*|(\*\.)?[\w-]+(\.[\w-]+)*\.?|[0-9A-Fa-f:]+")


def load_rules(text: str, *, origin: str) -> tuple[Rule, ...]:
    """Load the rules of a file; `origin` names the file in errors and decisions."""
    items = find_rule_items(parse_document(text, origin), origin)
    if items is None:
        return ()
    if len(items.values) > MAX_RULES:
        raise rule_error(origin, items.line, f"there are more than {MAX_RULES} rules", "use patterns that cover more")
    lines: dict[str, int] = {}
    rules: list[Rule] = []
    for item in items.values:
        rule = _parse_rule(item, origin)
        if rule.name in lines:
            raise rule_error(
                origin,
                item.line,
                f"a rule named `{rule.name}` already stands on line {lines[rule.name]}",
                "give each rule a name of its own",
            )
        lines[rule.name] = item.line
        rules.append(rule)
    return tuple(rules)


def find_rule_items(document: Node | None, origin: str) -> Items | None:
    """Return the list of rules in a file: below `rules:`, or the file itself."""
    if isinstance(document, Entries):
        unknown = next((name for name in document.values if name != "rules"), None)
        if unknown is not None:
            line = document.values[unknown].line
            raise rule_error(
                origin, line, f"`{unknown}` is not a key of a rule file", "a rule file has one key, `rules`"
            )
        document = document.values.get("rules")
    if document is None or (isinstance(document, Text) and not document.value):
        return None
    if not isinstance(document, Items):
        raise rule_error(
            origin, document.line, "this is not a list of rules", "write `rules:` and below it `- name: …`"
        )
    return document


def _parse_rule(item: Node, origin: str) -> Rule:
    if not isinstance(item, Entries):
        raise rule_error(
            origin, item.line, "this is not a rule", "a rule is a mapping with `name`, `effect` and patterns"
        )
    values = item.values
    for name, node in values.items():
        if name not in KEYS:
            import difflib

            near = difflib.get_close_matches(name, KEYS, n=1)
            suggestion = f"; did you mean `{near[0]}`?" if near else ""
            raise rule_error(
                origin, node.line, f"a rule has no `{name}`{suggestion}", f"keys of a rule: {', '.join(KEYS)}"
            )
    if "name" not in values:
        raise rule_error(origin, item.line, "a rule without a name", "add `name:`; decisions refer to it")
    name = _parse_text(values["name"], "name", origin)
    if not NAME.fullmatch(name):
        usable = "use up to 80 letters, digits, spaces and `. _ : / -`"
        raise rule_error(origin, values["name"].line, "this is not a usable name", usable)
    rule = Rule(
        name=name,
        effect=_parse_choice(values.get("effect"), get_args(RuleEffect), "effect", item, origin),
        risk=_parse_choice(values["risk"], LEVELS, "risk", item, origin) if "risk" in values else None,
        justification=_parse_text(values["justification"], "justification", origin)
        if "justification" in values
        else "",
        folder=_parse_folder(values["folder"], origin) if "folder" in values else "",
        origin=origin,
        match=parse_examples(values.get("match"), origin),
        not_match=parse_examples(values.get("not_match"), origin),
        **{name: _parse_patterns(name, values[name], origin) for name in (*PATTERNS, "digest") if name in values},
    )
    _check_scope(rule, values, item.line, origin)
    check_examples(rule, values, origin)
    return rule


def _parse_text(node: Node, key: str, origin: str) -> str:
    if not isinstance(node, Text) or not node.value.strip():
        raise rule_error(
            origin, node.line, f"`{key}` must be text", "write it on the same line, in quotes if necessary"
        )
    if not all(char.isprintable() or char in "\n\t" for char in node.value):
        raise rule_error(origin, node.line, f"`{key}` has invisible characters", "write it without them")
    return node.value


def _parse_folder(node: Node, origin: str) -> str:
    text = _parse_text(node, "folder", origin)
    if not text.startswith(("/", "~/")) or os.path.normpath(text) != text:
        raise rule_error(origin, node.line, f"`{text}` is not the path of a folder", "write it as `pwd -P` prints it")
    return text


def _parse_choice(node: Node | None, choices: tuple[Any, ...], key: str, item: Entries, origin: str) -> Any:
    if node is None or not isinstance(node, Text) or node.value not in choices:
        line = item.line if node is None else node.line
        raise rule_error(origin, line, f"`{key}` must be one of {', '.join(choices)}", f"write `{key}: {choices[-1]}`")
    return node.value


def _parse_patterns(key: str, node: Node, origin: str) -> tuple[Any, ...]:
    """Parse one pattern, or a list of alternatives."""
    nodes = node.values if isinstance(node, Items) else [node]
    if not nodes:
        raise rule_error(origin, node.line, f"`{key}` is an empty list", "leave it out, or name something")
    return tuple(_PARSERS[key](_parse_text(item, key, origin), item.line, origin) for item in nodes)


def _parse_command(text: str, line: int, origin: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError:  # an unclosed quote
        words = ()
    if not words:
        raise rule_error(origin, line, "this is not the beginning of a command", "write words as in a shell")
    wild = [word for word in words if ONE_WORD in word and word != ONE_WORD]
    if wild and (wild != [ANY_WORDS] or words[-1] != ANY_WORDS or words == (ANY_WORDS,)):
        raise rule_error(
            origin,
            line,
            f"`{wild[0]}` is not a word of a pattern",
            "`*` stands for one whole word, `**` at the end for any further words",
        )
    if text.split()[-1] == words[-1] == END:
        if len(words) == 1:
            raise rule_error(origin, line, "this is not the beginning of a command", "write words before the `$`")
        return words
    return escape_end(words)


def _parse_path(text: str, line: int, origin: str) -> str:
    if ".." in text.split("/"):
        raise rule_error(
            origin,
            line,
            f"`{text}` leads out of its directory",
            "write the path from the workspace root, or an absolute one",
        )
    if text.startswith("!") or "\\" in text or "\n" in text:
        raise rule_error(
            origin, line, f"`{text}` is not a pattern for paths", "use names, `/`, `*`, `**`, `?` and `[…]`"
        )
    if text.startswith("~") and not text.startswith("~/"):
        raise rule_error(origin, line, f"`{text}` names another user's home", "write the whole path")
    return text


def _parse_host(text: str, line: int, origin: str) -> str:
    if not _HOST.fullmatch(text):
        raise rule_error(origin, line, f"`{text}` is not a host", "write `example.com` or `*.example.com`")
    return text


def _parse_glob(text: str, line: int, origin: str) -> str:
    if any(char.isspace() for char in text):
        raise rule_error(origin, line, f"`{text}` has a space in it", "write a list for several names")
    return text


def _parse_digest(text: str, line: int, origin: str) -> str:
    if not _DIGEST.fullmatch(text):
        raise rule_error(origin, line, f"`{text}` is not a digest", "approve a call of the skill with a rule")
    return text


_PARSERS: Mapping[str, Callable[[str, int, str], Any]] = {
    "tool": _parse_glob, "command": _parse_command, "path": _parse_path, "host": _parse_host, "skill": _parse_glob,
    "digest": _parse_digest,
}  # fmt: skip


def _check_scope(rule: Rule, values: Mapping[str, Node], line: int, origin: str) -> None:
    """Refuse a rule without a scope: a rule about everything is a mode and is set there."""
    if not any(name in values for name in PATTERNS) and (rule.effect == "allow" or rule.risk is None):
        raise rule_error(
            origin,
            line,
            f"the rule `{rule.name}` does not say what it is about",
            "add `tool`, `command`, `path`, `host` or `skill`; `safety.mode` is for everything",
        )
    if rule.digest and (rule.effect != "allow" or not rule.skill):
        raise rule_error(
            origin,
            values["digest"].line,
            f"the rule `{rule.name}` has a `digest` without allowing a skill",
            "write `effect: allow` and name the skill with `skill`",
        )
    for pattern in rule.command if rule.effect == "allow" else ():
        if pattern[0] == ONE_WORD:
            raise rule_error(
                origin,
                values["command"].line,
                f"the rule `{rule.name}` would allow every program",
                "begin the pattern with the name of a program",
            )
