"""Evaluate the words of a script.

`Script` is the parsed text, `Bindings` are the variables the script sets itself, and `Evaluator` removes quoting;
what only the running shell knows stays unknown.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Literal

from skills_runtime.safety.guard.facts import Findings, Span
from skills_runtime.safety.guard.paths import is_plain_relative_path
from skills_runtime.safety.guard.words import PLACEHOLDER, Part, Word, decode_ansi_c, join, plain_word, split_escapes

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser


_local = threading.local()
# The grammar's scanner indexes ASCII-only tables: for other characters it reads out of bounds. To the shell they are
# ordinary letters of a word, and so are their substitutes.
_ASCII_SUBSTITUTES = bytes(byte if byte < 0x80 else 1 for byte in range(256))


@cache
def _language() -> "Language":
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


_NEGATED_GROUP = re.compile(
    rb"!(?=[ \t]+(?:[{(!]|\w+=|[^\s(){};&|]+[ \t]*\(|function\b|if\b|while\b|until\b|for\b|case\b))"
)


_MAY_SET_VARIABLE = re.compile(r"[\w\]]\+?=|\b(?:read|for|select|mapfile|readarray|getopts|printf)\b")
"""Text that may set a variable."""


class Script:
    """One shell text: the outermost line, or code inside it."""

    __slots__ = ("_ascii", "_root", "fallback_span", "level", "offset", "outer_sets_variables", "source", "text")

    def __init__(
        self,
        text: str,
        *,
        level: int = 0,
        offset: int | None = 0,
        fallback_span: Span | None = None,
        outer_sets_variables: bool = False,
    ) -> None:
        self.text = text
        self.outer_sets_variables = outer_sets_variables
        """Whether an enclosing script may set variables that this one does not set."""
        self.source = text.encode()
        self.level = level
        self.offset = offset
        """Offset in the outermost line, if it appears there literally."""
        self.fallback_span = fallback_span
        """The span reported for all of it, if it does not."""
        self._ascii = len(text) == len(self.source)
        self._root: Node | None = None

    @property
    def root(self) -> "Node":
        """The syntax tree, parsed on first use."""
        if self._root is None:
            # A parser is not to be shared between threads.
            parser: Parser | None = getattr(_local, "parser", None)
            if parser is None:
                import tree_sitter

                parser = _local.parser = tree_sitter.Parser(_language())
            source = self.source
            if not source.isascii():
                source = source.translate(_ASCII_SUBSTITUTES)
            if b"!" in source:
                source = _NEGATED_GROUP.sub(b" ", source)
            self._root = parser.parse(source.replace(b"<>", b"> ")).root_node
        return self._root

    def text_at(self, start: int, end: int) -> str:
        """Return the source text between two byte offsets."""
        return self.source[start:end].decode(errors="replace")

    def span(self, start: int, end: int) -> Span | None:
        """Return the span of a part in the outermost line, in characters."""
        if self.offset is None:
            return self.fallback_span
        if self._ascii:
            return self.offset + start, self.offset + end
        prefix = len(self.source[:start].decode(errors="replace"))
        return self.offset + prefix, self.offset + prefix + len(self.text_at(start, end))

    def inner(self, text: str, start: int, end: int) -> "Script":
        """Build the script for code inside a word of this script."""
        source = self.text_at(start, end)
        offset = source.find(text) if text else -1
        span, level = self.span(start, end), self.level + 1
        outer_sets_variables = self.outer_sets_variables or _MAY_SET_VARIABLE.search(self.text) is not None
        if self.offset is None or offset < 0:
            return Script(text, level=level, offset=None, fallback_span=span, outer_sets_variables=outer_sets_variables)
        return Script(
            text, level=level, offset=(span[0] if span else 0) + offset, outer_sets_variables=outer_sets_variables
        )


Binding = tuple[Literal["constant"], str] | tuple[Literal["plain", "below", "tame", "wild"], None]
"""A known value; one of several literal names; results of a pattern in a literal directory;

any file names below the working directory; anything.
"""

WILD: Binding = ("wild", None)

_SETTERS = re.compile(
    r"\b(?:read|mapfile|readarray|getopts|let|declare|typeset|local|printf\s+-v|eval|source)\b|\$\(\(|\(\("
)
"""Programs that set variables in ways that are not analyzed."""
_TEXT_SETTERS = re.compile(
    r"\b(?:read|mapfile|readarray|getopts|select|declare|typeset|local|eval|source)\b|\bprintf\s+-v|\bset\s+--|\$\{\w+:?="
)
"""Those that may set them to any text."""
_BARE = re.compile(r"[\w./:=,@%+*?-]+")
_RANGE = re.compile(r"\{\d{1,9}\.\.\d{1,9}\}")

_ARGUMENTS = r"(?:[ \t]+(?:'[^']*'|\"[^\"$`\\]*\"|[\w.:=,@%+*?/^~-]+))*"
_LISTING_COMMAND = re.compile(
    r"(?:find|fd|fdfind|ls|nproc|seq(?=(?: +\d+)+$)|git ls-files|git (?:diff|show|grep)(?=.* (?:--name-only|-l)\b)"
    rf"|rg (?:-l|--files)|grep -\w*l\w*){_ARGUMENTS}"
)
"""Commands that print file names or numbers they found, not arbitrary text."""
_FILTER_COMMAND = re.compile(
    r"(?:head|tail|sort|uniq|wc)(?: +(?:-\w+|[+-]?\d+))*|e?grep(?: +-\w+)* +(?:'[^']*'|\"[^\"$`\\]*\"|[\w.^-]+)"
)
"""Commands that print their input, or a part of it."""
_STAGE = re.compile(rf"[\w./-]+{_ARGUMENTS}")
_COUNTS = re.compile(r"wc -[clmw]")
_COMPUTED_NAMES = re.compile(r"(?:^|[\s'\"=])(?:[/~]|-\w*printf|--(?:format|pretty|time-style|replace))|\.\.|-exec|-ok")


def only_lists_names(text: str) -> bool:
    """Return whether a substitution prints only names found below the working directory."""
    first, *filters = stages = text.removeprefix("$(").removesuffix(")").strip().split(" | ")
    return counts(stages) or (
        _LISTING_COMMAND.fullmatch(first) is not None
        and _COMPUTED_NAMES.search(text) is None
        and all(_FILTER_COMMAND.fullmatch(other) for other in filters)
    )


def counts(stages: list[str]) -> bool:
    """Return whether a pipeline prints only a number."""
    return all(map(_STAGE.fullmatch, stages)) and len(stages) > 1 and _COUNTS.fullmatch(stages[-1]) is not None


def replace_counts(text: str) -> str:
    """Replace each substitution that prints only a number by a number."""
    return re.sub(r"\$\(([^()`]*)\)", lambda match: "1" if counts(match[1].split(" | ")) else match[0], text)


def _classify_values(values: list[str | None]) -> Binding:
    texts = [value for value in values if value is not None and is_plain_relative_path(value)]
    if len(texts) < len(values):
        return WILD
    if not any(re.search(r"[*?\[]", text) for text in texts):
        return ("plain", None)
    return ("tame" if any(text[0] in "*?" for text in texts) else "below", None)


class Bindings:
    """Variables that a script sets; the tree is searched at the first lookup."""

    __slots__ = ("_bindings", "_environment", "_has_untracked_setters", "_numbers", "_script", "_texts")

    def __init__(self, script: Script, environment: Mapping[str, str]) -> None:
        self._script = script
        self._environment = environment
        self._bindings: dict[str, Binding] | None = None
        self._numbers: frozenset[str] | None = None
        self._texts = frozenset[str]()
        self._has_untracked_setters = False

    def lookup(self, name: str) -> Binding | None:
        """Look up a variable; None when the script does not set it."""
        if self._bindings is None:
            self._bindings = self._collect()
        binding = self._bindings.get(name)
        if binding is not None:
            return binding
        if name in self._environment:
            return ("constant", self._environment[name])
        outer_sets_variables = self._script.outer_sets_variables and name not in ("HOME", "PWD")
        return WILD if self._has_untracked_setters or outer_sets_variables else None

    def _collect(self) -> dict[str, Binding]:
        text = self._script.text
        bindings: dict[str, Binding] = {}
        self._has_untracked_setters = bool(_SETTERS.search(text))
        if "=" not in text and " in " not in text:
            return bindings
        for name, values in self._assignments():
            if name in bindings:
                bindings[name] = WILD
            elif len(values) == 1 and values[0] is not None and not re.search(r"[*?\[]", values[0]):
                bindings[name] = ("constant", values[0])
            else:
                bindings[name] = _classify_values(values)
        return bindings

    def is_numeric(self, text: str) -> bool:
        """Return whether arithmetic with this text sees only numbers; a subscript in a text would be executed."""
        if re.search(r"[`\[]|\$[({\d@*]", text):
            return False
        variables = re.findall(r"[A-Za-z_]\w*", text)
        if not variables:
            return True
        if self._numbers is None:
            self._numbers, self._texts = self._classify_variables()
        if _TEXT_SETTERS.search(self._script.text):
            return False
        return (
            self._numbers.issuperset(variables)
            if self._script.outer_sets_variables
            else self._texts.isdisjoint(variables)
        )

    def _classify_variables(self) -> tuple[frozenset[str], frozenset[str]]:
        """Return the variables set to numbers, and those that may hold any other text."""
        numbers: set[str] = set()
        text_variables = {name for name, value in self._environment.items() if not value.isdecimal()}
        text_variables |= {"_", "REPLY", "OPTARG", "MAPFILE", "BASH_REMATCH", "BASH_COMMAND", "BASH_EXECUTION_STRING"}
        stack = [self._script.root]
        while stack:
            node = stack.pop()
            stack.extend(node.named_children)
            name = node.child_by_field_name("name") if node.type == "variable_assignment" else None
            if node.type == "for_statement":
                name = node.child_by_field_name("variable")
            if name:
                target = text_variables if _is_text(node.children_by_field_name("value")) else numbers
                target.add(self._text(name).partition("[")[0])
        return frozenset(numbers - text_variables), frozenset(text_variables)

    def _assignments(self) -> Iterator[tuple[str, list[str | None]]]:
        stack = [self._script.root]
        while stack:
            node = stack.pop()
            if node.type == "variable_assignment":
                yield self._assignment(node)
            elif node.type == "for_statement":
                name = node.child_by_field_name("variable")
                values = node.children_by_field_name("value")
                unseen_arguments = [
                    "1" if _RANGE.fullmatch(self._text(value)) else self._literal(value) for value in values
                ]
                # One more, so that a loop over a single value is not taken for a constant.
                yield (self._text(name) if name else ""), [*unseen_arguments, "x" if unseen_arguments else None]
            stack.extend(node.named_children)

    def _assignment(self, node: "Node") -> tuple[str, list[str | None]]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        appended = len(node.children) > 1 and node.children[1].type == "+="
        literal = "" if value is None else self._literal(value)
        return (self._text(name) if name else ""), [None if appended else literal]

    def _literal(self, node: "Node") -> str | None:
        text = self._text(node)
        if node.type == "command_substitution" and only_lists_names(text):
            return "*"
        if node.type in ("word", "number", "concatenation"):
            return text if _BARE.fullmatch(text) else None
        if node.type == "raw_string":
            return text[1:-1]
        if node.type == "string" and not re.search(r"[$`\\]", text):
            return text[1:-1]
        return None

    def _text(self, node: "Node") -> str:
        return self._script.text_at(node.start_byte, node.end_byte)


def _is_text(values: "list[Node]") -> bool:
    """Return whether one of these values may be anything but a number."""
    return not all(
        value.type in ("number", "arithmetic_expansion", "brace_expression")
        or re.fullmatch(r"\d+", replace_counts((value.text or b"").decode(errors="replace")))
        for value in values
    )


_SIMPLE = re.compile(rb"[\w./:,@%+=-]+")
# What the shell itself treats as one bare word; the parser is verified, not trusted.
_UNQUOTED = re.compile(r"(?:[^\s'\"`$;&|<>()\\]|\\.|[$](?=$))+", re.DOTALL)
# Must not remain inside double quotes or a here-document.
_MISSED = re.compile(r'(?<!\\)(?:\\\\)*(?:["`]|\$[\w({\[@*#?$!-])')
_NUMERIC = frozenset("?$!#")
_QUOTED_ESCAPE = re.compile(r"\\([$`\"\\\n])")
EXPANSIONS = frozenset(
    {"command_substitution", "process_substitution", "arithmetic_expansion", "expansion", "simple_expansion"}
)


class Evaluator:
    """Turns the nodes of one script into words; passes on commands inside words."""

    __slots__ = ("_bindings", "_findings", "_script", "_visit_later")

    def __init__(
        self, script: Script, bindings: Bindings, findings: Findings, visit_later: Callable[["Node"], None]
    ) -> None:
        self._script = script
        self._bindings = bindings
        self._findings = findings
        self._visit_later = visit_later

    def evaluate_words(self, node: "Node") -> list[Word]:
        """Return the words of one node: usually one."""
        start, end = node.start_byte, node.end_byte
        if node.type == "word" or node.type == "number":
            raw = self._script.source[start:end]
            if _SIMPLE.fullmatch(raw):
                return [plain_word(raw.decode(), start, end)]
        if node.type in ("simple_expansion", "expansion") and (split := self._split_constant(node)):
            return split
        words = join(self._evaluate_parts(node), start, end)
        for word in words:
            if "[" in word.shape and re.search(r"\w\[[^\]]{0,400}(?:\$[({]|`)", word.shape):
                self._mark_unclear("a word holds a subscript with code in it", node)
        return words

    def _evaluate_parts(self, node: "Node") -> list[Part]:
        text = self._script.text_at(node.start_byte, node.end_byte)
        match node.type:
            case "word" | "number":
                return self._evaluate_bare_word(node, text)
            case "raw_string":
                return [Part(text[1:-1], quoted=True)]
            case "ansi_c_string":
                decoded = decode_ansi_c(text[2:-1])
                return [self._unknown_part(node)] if decoded is None else [Part(decoded, quoted=True)]
            case "string":
                return self._evaluate_string(node)
            case "translated_string" | "concatenation" | "command_name":
                return self._evaluate_concatenation(node)
            case "simple_expansion" | "expansion":
                return [self._evaluate_variable(node, quoted=False)]
            case _:
                return [self._evaluate_expansion(node, text)]

    def _evaluate_expansion(self, node: "Node", text: str) -> Part:
        match node.type:
            case "command_substitution":
                self._visit_later(node)
                only_names = only_lists_names(text)
                return Part(PLACEHOLDER, unknown=True, computed=not only_names, safe_alone=only_names, may_split=True)
            case "process_substitution":
                self._visit_later(node)
                return Part(PLACEHOLDER, unknown=True, is_process=True)
            case "arithmetic_expansion":
                self._visit_later(node)
                return Part(PLACEHOLDER, unknown=True, never_option=True)
            case "brace_expression":
                return Part(PLACEHOLDER, unknown=True, may_split=True)
            case "regex" | "extglob_pattern" | "test_operator" | "variable_name" | "==" | "=~":
                if re.search(r"[$`]", text):
                    return self._unknown_part(node)
                return Part(text)
            case _:
                return self._unknown_part(node)

    def _evaluate_bare_word(self, node: "Node", text: str) -> list[Part]:
        if not _UNQUOTED.fullmatch(text) or text.startswith("#") or node.has_error:
            return [self._unknown_part(node)]
        if text.startswith("~") and len(text) > 1 and re.match(r"~[\w+-]", text):
            return [Part("~", unknown=True), *split_escapes(text[1:])]
        return split_escapes(text)

    def _evaluate_concatenation(self, node: "Node") -> list[Part]:
        parts: list[Part] = []
        end = node.start_byte
        for child in node.children:
            if child.start_byte != end:
                parts.append(self._unknown_part(node))
            end = child.end_byte
            if child.type == "$":
                dollar = end == node.end_byte or node.type == "translated_string"
                parts.append(
                    Part("" if node.type == "translated_string" else "$", quoted=True)
                    if dollar
                    else self._unknown_part(node)
                )
            else:
                parts.extend(self._evaluate_parts(child))
        return parts

    def _evaluate_string(self, node: "Node") -> list[Part]:
        parts: list[Part] = [Part("", quoted=True)]
        at = node.start_byte + 1
        for child in node.named_children:
            if child.type not in EXPANSIONS:
                if child.type != "string_content":
                    parts.append(self._unknown_part(child))
                continue
            parts.extend(self._unescape_quoted(node, at, child.start_byte))
            parts.append(self._evaluate_quoted_expansion(child))
            at = child.end_byte
        return [*parts, *self._unescape_quoted(node, at, node.end_byte - 1)]

    def _evaluate_quoted_expansion(self, child: "Node") -> Part:
        if child.type in ("simple_expansion", "expansion"):
            return self._evaluate_variable(child, quoted=True)
        self._visit_later(child)
        number = child.type == "arithmetic_expansion"
        only_names = not number and only_lists_names(self._script.text_at(child.start_byte, child.end_byte))
        return Part(
            PLACEHOLDER,
            unknown=True,
            quoted=True,
            computed=not (number or only_names),
            safe_alone=only_names,
            never_option=number,
        )

    def _unescape_quoted(self, node: "Node", start: int, end: int) -> list[Part]:
        text = self._script.text_at(start, end)
        if not text:
            return []
        if _MISSED.search(text):
            return [self._unknown_part(node)]
        return [Part(_QUOTED_ESCAPE.sub(lambda match: "" if match[1] == "\n" else match[1], text), quoted=True)]

    def _evaluate_variable(self, node: "Node", *, quoted: bool) -> Part:
        name = self._variable_name(node)
        if name is None:
            self._visit_later(node)
            if node.type == "expansion" and "@" in self._script.text_at(node.start_byte, node.end_byte):
                self._mark_unclear("a value is put through a transformation", node)
            return Part(PLACEHOLDER, unknown=True, computed=True, may_split=not quoted)
        if name in _NUMERIC:
            return Part(PLACEHOLDER, unknown=True, never_option=True)
        if not name[0].isalpha() and (name[0] != "_" or name == "_"):
            return Part(PLACEHOLDER, unknown=True, computed=True, may_split=not quoted or name == "@")
        binding = self._bindings.lookup(name)
        if binding is None:
            path = {"HOME": "~", "PWD": "."}.get(name)
            several = not quoted and path is None
            return Part(
                path or PLACEHOLDER,
                unknown=True,
                may_split=several,
                never_option=path is not None,
                from_environment=path is None,
            )
        kind, value = binding
        if kind == "constant" and value is not None and (quoted or not re.search(r"[\s*?\[]", value)):
            return Part(value, quoted=True)
        is_tracked = kind in ("plain", "below", "tame")
        several = not quoted and kind != "plain"
        return Part(
            PLACEHOLDER,
            unknown=True,
            computed=not is_tracked,
            safe_alone=True,
            may_split=several,
            never_option=kind in ("plain", "below"),
        )

    def _variable_name(self, node: "Node") -> str | None:
        """Return the variable's name if the node is only its value."""
        inner = self._script.text_at(node.start_byte, node.end_byte)[1:]
        if node.type == "expansion":
            inner = inner[1:-1]
            if inner.startswith("#") and inner[1:].isidentifier():
                return "#"
        return inner if inner.isidentifier() or inner.isdecimal() or (len(inner) == 1 and inner in "@*#?-$!") else None

    def _split_constant(self, node: "Node") -> list[Word]:
        """Return the words of an unquoted variable whose known value has several words."""
        name = self._variable_name(node)
        binding = self._bindings.lookup(name) if name and name.isidentifier() else None
        value = binding[1] if binding and binding[0] == "constant" else None
        if value is None or not re.search(r"[\s*?\[]", value):
            return []
        return [word for text in value.split() for word in join([Part(text)], node.start_byte, node.end_byte)]

    def _unknown_part(self, node: "Node") -> Part:
        self._mark_unclear("a word is not understood", node)
        return Part(PLACEHOLDER, unknown=True, computed=True, may_split=True)

    def _mark_unclear(self, reason: str, node: "Node") -> None:
        start, end = node.start_byte, node.end_byte
        self._findings.mark_unclear(reason, self._script.text_at(start, end), self._script.span(start, end))
