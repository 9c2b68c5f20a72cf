"""Examples of a rule: calls it says it matches, and calls it says it does not."""

from collections.abc import Mapping

from skills_runtime.ports import FileTouch
from skills_runtime.safety.guard import Facts, Reading, read_argv, read_line
from skills_runtime.safety.policy.decide import decide
from skills_runtime.safety.policy.document import Entries, Items, Node, Text, refusal
from skills_runtime.safety.policy.matching import stops
from skills_runtime.safety.policy.names import is_tool
from skills_runtime.safety.policy.paths import Anchor
from skills_runtime.safety.policy.rule import Example, Rule, Rules
from skills_runtime.safety.policy.verdict import Allow

COMMAND_TOOLS = ("shell_command", "shell", "shell_exec", "exec_command", "write_stdin", "skill_exec")
KEYS = ("tool", "command", "path", "host", "skill")
_ROOT, _HOME = "/workspace", "/home/user"
"""Where examples play."""


def parse_examples(node: Node | None, origin: str) -> tuple[Example, ...]:
    """The examples below `match` or `not_match`."""
    return tuple(_example(one, origin) for one in example_nodes(node))


def example_nodes(node: Node | None) -> list[Node]:
    """Each example as it stands in the file; one alone needs no list."""
    if node is None:
        return []
    return node.values if isinstance(node, Items) else [node]


def _example(node: Node, origin: str) -> Example:
    if isinstance(node, Text) and node.value.strip():
        return Example(line=node.value)
    if not isinstance(node, Entries) or not node.values or not node.values.keys() <= set(KEYS):
        raise refusal(
            origin,
            node.line,
            "this is not an example",
            f"write a command line, or a mapping of {', '.join(KEYS)}",
        )
    values = node.values
    command = values.get("command")
    return Example(
        line=_text(command, origin) if isinstance(command, Text) else "",
        argv=_texts(command, origin) if isinstance(command, Items) else (),
        tool=_text(values["tool"], origin) if "tool" in values else "",
        path=_texts(values.get("path"), origin),
        host=_texts(values.get("host"), origin),
        skill=_text(values["skill"], origin) if "skill" in values else "",
    )


def _texts(node: Node | None, origin: str) -> tuple[str, ...]:
    return tuple(_text(one, origin) for one in example_nodes(node))


def _text(node: Node, origin: str) -> str:
    if not isinstance(node, Text) or not node.value:
        raise refusal(origin, node.line, "an example needs text here", "put the value in quotes")
    return node.value


def check_examples(rule: Rule, values: Mapping[str, Node], origin: str) -> None:
    """Raise if a rule does not do what its examples say."""
    for key, examples in (("match", rule.match), ("not_match", rule.not_match)):
        for example, node in zip(examples, example_nodes(values.get(key)), strict=True):
            why_not = _why_not(rule, example)
            if (why_not == "") != (key == "match"):
                said = f"does not match its example: {why_not}" if why_not else "matches what it says it does not"
                raise refusal(
                    origin,
                    node.line,
                    f"the rule `{rule.name}` {said} (`{_shown(example)}`)",
                    "correct the pattern or the example",
                )


def _why_not(rule: Rule, example: Example) -> str:
    """Why the rule, all alone, does not decide on the example; empty when it does."""
    facts = facts_of(example, rule)
    base = Anchor(_ROOT, _HOME)
    if rule.effect != "allow":
        return "" if stops(rule, facts, base) else "no pattern fits"
    verdict = decide(facts, Rules(rules=(rule,), root=_ROOT, home=_HOME))
    if isinstance(verdict, Allow):
        return ""
    return "no pattern fits every part" if verdict.rule == "safety.mode: ask" else verdict.rule


def facts_of(example: Example, rule: Rule) -> Facts:
    """The example as the rules would see it as a call."""
    reading = _reading(example)
    return Facts(
        tool=example.tool or _tool_of(example, rule),
        commands=reading.commands,
        writes=reading.writes,
        reads=reading.reads,
        files=tuple(FileTouch(path=path, touch="change") for path in example.path),
        hosts=(*reading.hosts, *example.host),
        skill=example.skill,
        unclear=reading.unclear,
        risk=reading.risk,
    )


def _reading(example: Example) -> Reading:
    if example.line:
        return read_line(example.line)
    return read_argv(example.argv) if example.argv else Reading()


def _tool_of(example: Example, rule: Rule) -> str:
    """A tool the rule is about, for an example that names none."""
    usual = COMMAND_TOOLS if example.line or example.argv else ("file_write",)
    fitting = (tool for tool in usual if not rule.tool or is_tool(rule.tool, tool))
    return next(fitting, rule.tool[0] if rule.tool else usual[0])


def _shown(example: Example) -> str:
    words = (example.line, " ".join(example.argv), example.tool, *example.path, *example.host, example.skill)
    text = " ".join(" ".join(filter(None, words)).split())
    return text if len(text) <= 120 else f"{text[:119]}…"
