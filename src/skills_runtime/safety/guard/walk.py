"""Walk the tree of a script: commands, pipelines, redirections, here-documents, functions and variables.

Iterative, so that nesting depth does not matter. Single programs are assessed elsewhere.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.safety.guard.calls import (
    NETWORK,
    CommandContext,
    CommandReader,
    StandardInput,
    record_path_host,
    record_write,
)
from skills_runtime.safety.guard.facts import Findings, Span
from skills_runtime.safety.guard.known_programs import assess_variable, is_known, program_name
from skills_runtime.safety.guard.paths import assess_pattern_read, assess_read, normalize
from skills_runtime.safety.guard.programs import find_assessor
from skills_runtime.safety.guard.programs.shells import find_evaluated_word
from skills_runtime.safety.guard.syntax import EXPANSIONS, Bindings, Evaluator, Script, replace_counts
from skills_runtime.safety.guard.words import PLACEHOLDER, Word, names, plain_word, unknown_word

if TYPE_CHECKING:
    from tree_sitter import Node


class FunctionTable:
    """The functions of one script."""

    __slots__ = ("_defined", "_script")

    def __init__(self, script: Script) -> None:
        self._script = script
        self._defined: dict[str, int] = {}
        """End of the definition, for functions that are defined unconditionally."""
        text = script.text
        if ("()" in text or "function" in text) and "unset" not in text:
            for node in script.root.named_children:
                if node.type == "function_definition":
                    self._defined[self._name(node)] = node.end_byte

    def is_call(self, word: Word, node: "Node") -> bool:
        """Return whether a command calls a function defined before."""
        end = self._defined.get(word.value or "")
        return end is not None and not _shadows_program(word.value or "") and node.start_byte >= end

    def assess_definition(self, node: "Node") -> tuple[str, bool]:
        """Return what is unclear about a definition, and whether the function calls itself."""
        name = self._name(node)
        body = self._script.source[node.start_byte : node.end_byte].decode(errors="replace")
        itself = body.replace("()", "", 1).count(name) > 2 or (name == ":" and body.count(":") > 2)
        reason = "a function takes the name of a program" if _shadows_program(name) else ""
        return reason, itself and self._contains_call(node, name)

    def _contains_call(self, node: "Node", name: str) -> bool:
        stack = node.named_children
        while stack:
            inner = stack.pop()
            if inner.type == "command_name" and self._script.text_at(inner.start_byte, inner.end_byte) == name:
                return True
            stack.extend(inner.named_children)
        return False

    def _name(self, node: "Node") -> str:
        name = node.child_by_field_name("name")
        return self._script.text_at(name.start_byte, name.end_byte) if name else ""


def _shadows_program(name: str) -> bool:
    return is_known(name) or find_assessor(name) is not None or not name.isidentifier()


WORD_NODES = names(
    """
    word string raw_string ansi_c_string translated_string concatenation simple_expansion expansion number
    brace_expression regex extglob_pattern
    """
)
"""Nodes that become words."""

LEAF_NODES = names(
    """
    variable_name special_variable_name test_operator file_descriptor heredoc_start heredoc_end heredoc_content
    string_content
    """
)
"""Nodes that can contain no code."""

_NODES_WITH_GAPS = names("heredoc_body arithmetic_expansion array subscript ERROR expansion string")
"""Nodes with gaps that are not only spaces."""


class WalkState:
    """One script in progress: where findings go, and the nodes left to visit."""

    __slots__ = (
        "bindings",
        "context",
        "evaluator",
        "findings",
        "functions",
        "reader",
        "script",
        "stack",
        "trailing_words",
    )

    def __init__(self, reader: CommandReader, script: Script, environment: Mapping[str, str]) -> None:
        self.reader = reader
        self.findings: Findings = reader.findings
        self.script = script
        self.bindings = Bindings(script, environment)
        self.evaluator = Evaluator(script, self.bindings, reader.findings, self.visit_later)
        self.functions = FunctionTable(script)
        self.stack: list[tuple[Node, CommandContext]] = []
        self.trailing_words: dict[int, list[Word]] = {}
        """Words after a redirection that belong to a command, by the id of its node."""
        self.context = CommandContext()
        """The context of the node that is visited."""

    def push(self, nodes: "list[Node]", parent: "Node", context: CommandContext | None = None) -> None:
        """Push nodes so that the first is visited first; the text between them must be space."""
        if parent.type not in _NODES_WITH_GAPS:
            end = nodes[0].end_byte if nodes else 0
            for node in nodes:
                start = node.start_byte
                if start > end and self.script.source[end:start].strip(b" \t\n\\"):
                    self.mark_unclear("a part of the command is not understood", parent)
                end = node.end_byte
        context = context or self.context
        self.stack.extend([(node, context) for node in reversed(nodes) if node.is_named])

    def visit_later(self, node: "Node") -> None:
        """Visit later what is inside a word."""
        if node.type in ("expansion", "simple_expansion"):
            if substring := _SUBSTRING.search(self.text(node)):
                check_arithmetic(self, substring[1], node)
            self.push(node.named_children, node)
        else:
            self.stack.append((node, self.context))

    def assess_word(self, word: Word) -> None:
        """Assess a word that is no argument now, but can become one."""
        assessment = assess_pattern_read(word.shape) if word.glob else assess_read(word.shape)
        if assessment:
            self.findings.add_risk(*assessment, *self.locate(word))

    def mark_unclear(self, reason: str, node: "Node") -> None:
        """Report a node that is not understood."""
        self.findings.mark_unclear(reason, self.text(node), self.span(node))

    def text(self, node: "Node") -> str:
        """Return the source text of a node."""
        return self.script.text_at(node.start_byte, node.end_byte)

    def span(self, node: "Node") -> Span | None:
        """Return the span of a node in the outermost line."""
        return self.script.span(node.start_byte, node.end_byte)

    def locate(self, word: Word) -> tuple[str, Span | None]:
        """Return the source text of a word and its span."""
        return self.script.text_at(word.start, word.end), self.script.span(word.start, word.end)


# A substring expansion: its offset is an arithmetic expression.
_SUBSTRING = re.compile(r"^\$\{[\w@*]+(?:\[[^\]]*\])?:([^-=+?].*)\}", re.DOTALL)

_TRANSPARENT = names(
    """
    program list subshell compound_statement if_statement elif_clause else_clause while_statement do_group
    negated_command arithmetic_expansion binary_expression unary_expression ternary_expression postfix_expression
    parenthesized_expression c_style_for_statement for_statement case_statement case_item array subscript
    variable_assignments command_name heredoc_body ERROR
    """
)
"""Nodes that only contain others."""

# Here parser and shell disagree about a backslash at the end of a line.
_JOINED_LINES = re.compile(r"\S\\\n\S|\n[ \t]*\\\n")
_MAX_SEGMENTS = 64


def read_script(reader: CommandReader, script: Script, context: CommandContext, environment: Mapping[str, str]) -> None:
    """Visit every relevant node, and pass each simple command to the reader."""
    state = WalkState(reader, script, environment)
    root = script.root
    state.stack.append((root, context))
    while state.stack:
        node, state.context = state.stack.pop()
        if not state.findings.spend():
            return
        kind = node.type
        if visit := VISITORS.get(kind):
            visit(state, node)
        elif kind in _TRANSPARENT:
            state.push(node.children, node)
        elif kind in WORD_NODES:
            words = state.evaluator.evaluate_words(node)
            for word in () if state.context.in_test else words:
                state.assess_word(word)
        elif node.is_named and kind not in LEAF_NODES:
            state.mark_unclear("a part of the command is not understood", node)
    if "\\\n" in script.text and _JOINED_LINES.search(script.text):
        state.mark_unclear("a word goes on in the next line", root)
    if root.has_error:
        _read_despite_errors(state, context)


def _read_despite_errors(state: WalkState, context: CommandContext) -> None:
    """Assess every possible command in a text with syntax errors."""
    text, root = state.script.text, state.script.root
    state.mark_unclear("the command has a syntax error", root)
    if re.search(r"/dev/(?:tcp|udp)/", text):
        state.findings.add_risk("high", "connects over the network", text, state.span(root))
    for segment in re.split(r"[;&|\n()`]|<<+-?", text)[:_MAX_SEGMENTS]:
        texts = re.sub(r"[{},]", " ", re.sub(r"['\"\\]", "", segment)).split()
        length = len(state.script.source)
        words = [
            unknown_word(end=length) if "$" in part else plain_word(part, 0, length) for part in texts[:_MAX_SEGMENTS]
        ]
        if words and state.findings.spend(len(words)):
            state.reader.read_command(state.script, words, context.nested())


_REDIRECTS = ("file_redirect", "herestring_redirect")
_MAX_STAGES = 16
_EXPANDED = re.compile(rb"[$`](?!')")


def visit_command(state: WalkState, node: "Node") -> None:
    """Visit a simple command."""
    _read_simple_command(state, node, state.trailing_words.pop(node.id, []), state.context)


def _read_simple_command(state: WalkState, node: "Node", trailing_words: list[Word], context: CommandContext) -> None:
    """Read a simple command: variables, name, arguments and redirections."""
    words: list[Word] = []
    end = -1
    for child in node.children:
        gap = state.script.source[end : child.start_byte] if end >= 0 and child.type not in _REDIRECTS else b" "
        # The shell, too, must see one space between two words.
        if not gap or b"\n" in gap.replace(b"\\\n", b""):
            state.mark_unclear("words touch each other", node)
        end = child.end_byte
        if child.type == "variable_assignment":
            read_assignment(state, child)
        elif child.type in _REDIRECTS:
            context, trailing = read_redirect(state, child, context)
            words.extend(trailing)
            end = -1
        elif child.type == "command_name":
            words.extend(_evaluate_program_name(state, child))
        else:
            words.extend(state.evaluator.evaluate_words(child))
    words.extend(trailing_words)
    if words and not state.functions.is_call(words[0], node):
        state.reader.read_command(state.script, words, context)


def _evaluate_program_name(state: WalkState, node: "Node") -> list[Word]:
    if _EXPANDED.search(state.script.source, node.start_byte, node.end_byte):
        state.mark_unclear("which program runs is only known when it runs", node)
    return state.evaluator.evaluate_words(node.children[0] if node.child_count == 1 else node)


def visit_redirected(state: WalkState, node: "Node") -> None:
    """Visit a command with redirections; more arguments may follow them."""
    body = node.child_by_field_name("body")
    context, trailing_words = state.context, list[Word]()
    for child in node.children:
        if child == body:
            continue
        if child.type == "heredoc_redirect":
            context = read_heredoc(state, child, body, context)
        elif child.type in _REDIRECTS:
            context, trailing = read_redirect(state, child, context)
            trailing_words.extend(trailing)
        elif child.is_named:
            state.stack.append((child, context))
    if body is None:
        return
    if body.type == "command":
        _read_simple_command(state, body, trailing_words, context)
        return
    last = _last_command(body)
    if trailing_words and last is None:
        state.mark_unclear("words follow a redirection", node)
    elif trailing_words and last is not None:
        state.trailing_words[last.id] = trailing_words
    state.stack.append((body, context))


def _last_command(node: "Node") -> "Node | None":
    """Return the command that a redirection after several commands belongs to."""
    while node.type in ("list", "pipeline", "negated_command") and node.named_children:
        node = node.named_children[-1]
    return node if node.type == "command" else None


def visit_lone_redirect(state: WalkState, node: "Node") -> None:
    """Visit a redirection without a command."""
    read_redirect(state, node, state.context)


def visit_pipeline(state: WalkState, node: "Node") -> None:
    """Visit the stages of a pipeline."""
    stages = node.named_children
    pushed: list[tuple[Node, CommandContext]] = []
    for index, stage in enumerate(stages):
        context = state.context
        if index > _MAX_STAGES:
            context = with_stdin(context, StandardInput(None, (None,)))
        elif index:
            stdin = partial(find_pipe_input, state.script, stages[:index], state.bindings)
            context = msgspec.structs.replace(context, stdin=stdin)
        if index + 1 < len(stages):
            context = msgspec.structs.replace(context, output_used=True)
        pushed.append((stage, context))
    state.stack.extend(reversed(pushed))


def visit_substitution(state: WalkState, node: "Node") -> None:
    """Visit commands inside a word."""
    source = state.script.source[node.start_byte : node.end_byte]
    if source[:1] == b"`" and b"\\" in source:
        state.mark_unclear("backslashes inside of backquotes are not read", node)
    context = msgspec.structs.replace(state.context, output_used=True, in_test=False)
    if source[:2] == b">(":
        context = with_stdin(context, StandardInput(None, (None,)))
    state.push(node.children, node, context)


def visit_function(state: WalkState, node: "Node") -> None:
    """Visit the body of a function where it is defined."""
    reason, calls_itself = state.functions.assess_definition(node)
    if reason:
        state.mark_unclear(reason, node)
    if calls_itself:
        state.findings.add_risk("high", "a function calls itself", state.text(node), state.span(node))
    name = node.child_by_field_name("name")
    state.push([child for child in node.named_children if child != name], node)


def visit_declaration(state: WalkState, node: "Node") -> None:
    """Visit `export` and similar builtins, which have nodes of their own."""
    words: list[Word] = []
    for child in node.children:
        if child.type == "variable_assignment":
            value = read_assignment(state, child)
            name = state.text(child).partition("=")[0]
            text = None if value is None or value.value is None else f"{name}={value.value}"
            shape = f"{name}={value.shape if value else ''}"
            words.append(Word(text, shape, child.start_byte, child.end_byte, bool(value and value.computed)))
        elif child.is_named and child.type != "variable_name":
            words.extend(state.evaluator.evaluate_words(child))
        else:
            words.append(plain_word(state.text(child), child.start_byte, child.end_byte))
    state.reader.read_command(state.script, words, state.context)


def read_assignment(state: WalkState, node: "Node") -> Word | None:
    """Assess setting a variable; return its value."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is not None and name.type == "subscript":
        state.stack.append((name, state.context))
    word: Word | None = plain_word("", node.end_byte, node.end_byte) if value is None else None
    if value is not None and value.type == "array":
        state.push(value.named_children, value)
    elif value is not None:
        words = state.evaluator.evaluate_words(value)
        word = words[0] if len(words) == 1 else None
    if risk := assess_variable(state.text(name) if name else "", word.value if word else None):
        state.findings.add_risk(*risk, state.text(node), state.span(node))
    if word:
        state.assess_word(word)
    return word


def visit_lone_assignment(state: WalkState, node: "Node") -> None:
    """Visit an assignment without a command."""
    read_assignment(state, node)


_CALCULATES = re.compile(r"\s-(?:eq|ne|lt|le|gt|ge)\s|\s-[vR]\s")


def visit_test(state: WalkState, node: "Node") -> None:
    """Visit `[ … ]` and `[[ … ]]`: only the first is a program, and only the second evaluates arithmetic."""
    if node.children[0].type == "[":
        bracket = plain_word("[", node.start_byte, node.start_byte + 1)
        state.reader.read_command(state.script, [bracket], state.context)
        if word := find_evaluated_word(_words_between(state, node)):
            state.findings.mark_unclear("a test may evaluate what is only known when it runs", *state.locate(word))
    elif _CALCULATES.search(state.text(node)):
        check_arithmetic(state, state.text(node).removeprefix("[["), node)
    state.push(node.children, node, msgspec.structs.replace(state.context, in_test=True))


def _words_between(state: WalkState, node: "Node") -> list[Word]:
    """Return the words of a test in order; commands inside them are visited separately."""
    evaluator = Evaluator(state.script, state.bindings, Findings(), lambda _: None)
    words: list[Word] = []
    stack = list(reversed(node.children[1:-1]))
    while stack:
        inner = stack.pop()
        if inner.type in WORD_NODES or inner.type in EXPANSIONS:
            words.extend(evaluator.evaluate_words(inner))
        elif inner.children:
            stack.extend(reversed(inner.children))
        else:
            words.append(plain_word(state.text(inner), inner.start_byte, inner.end_byte))
    return words


def visit_arithmetic(state: WalkState, node: "Node") -> None:
    """Visit `$(( … ))`, `(( … ))` and subscripts: code in a variable's value would be executed."""
    if node.type == "subscript":
        index = node.child_by_field_name("index")
        if index and state.text(index) not in ("@", "*"):
            check_arithmetic(state, state.text(index), node)
    elif node.type != "compound_statement" or node.children[0].type == "((":
        body = node.child_by_field_name("body")
        text = state.script.text_at(node.start_byte, body.start_byte if body else node.end_byte)
        check_arithmetic(state, text.removeprefix("$(("), node)
    state.push(node.children, node)


def check_arithmetic(state: WalkState, text: str, node: "Node") -> None:
    """Report arithmetic whose text may contain code."""
    if not state.bindings.is_numeric(replace_counts(text)):
        state.mark_unclear("calculates with a text that may hold code", node)


def visit_loop(state: WalkState, node: "Node") -> None:
    """Visit `for` and `select`, which set their variable."""
    name = node.child_by_field_name("variable")
    if name and (risk := assess_variable(state.text(name), None)):
        state.findings.add_risk(*risk, state.text(name), state.span(name))
    state.push(node.children, node)


def visit_comment(state: WalkState, node: "Node") -> None:
    """Report a comment that the shell may read differently."""
    previous = state.script.source[node.start_byte - 1 : node.start_byte] if node.start_byte else b""
    if previous and previous not in b" \t\n;&|()":
        state.mark_unclear("a comment is not understood", node)


VISITORS: Mapping[str, Callable[[WalkState, "Node"], None]] = {
    "command": visit_command,
    "redirected_statement": visit_redirected,
    "pipeline": visit_pipeline,
    "command_substitution": visit_substitution,
    "process_substitution": visit_substitution,
    "function_definition": visit_function,
    "declaration_command": visit_declaration,
    "unset_command": visit_declaration,
    "variable_assignment": visit_lone_assignment,
    "test_command": visit_test,
    "arithmetic_expansion": visit_arithmetic,
    "subscript": visit_arithmetic,
    "compound_statement": visit_arithmetic,
    "c_style_for_statement": visit_arithmetic,
    "for_statement": visit_loop,
    "comment": visit_comment,
    "file_redirect": visit_lone_redirect,
    "herestring_redirect": visit_lone_redirect,
}


_READS = frozenset({"<", "<&", "<&-", ">&-"})


def read_redirect(state: WalkState, node: "Node", context: CommandContext) -> tuple[CommandContext, list[Word]]:
    """Assess one redirection; return the new context, and words that belong to the command."""
    words: list[Word] = []
    operator = ""
    for child in node.children:
        if child.type == "file_descriptor":
            continue
        if not child.is_named and not operator:
            operator = child.type
        else:
            words.extend(state.evaluator.evaluate_words(child))
    if not words:
        return context, []
    target, trailing = words[0], words[1:]
    if operator == "<<<":
        state.assess_word(target)
        return with_stdin(context, StandardInput(target.value, (None,), (node.start_byte, node.end_byte))), trailing
    if operator in _READS:
        return _read_input_redirect(state, operator, target, context), trailing
    if operator != ">&" or not (target.shape.isdigit() or target.shape == "-"):
        record_write(state.findings, target, *state.locate(target))
    return context, trailing


def with_stdin(context: CommandContext, stdin: StandardInput) -> CommandContext:
    """Return the context with this standard input."""
    return msgspec.structs.replace(context, stdin=lambda: stdin)


def _read_input_redirect(state: WalkState, operator: str, target: Word, context: CommandContext) -> CommandContext:
    if operator != "<" and not target.shape.strip("0123456789-"):
        return context
    state.assess_word(target)
    if not target.is_process:
        state.findings.reads.append(target.value)
        if target.value is None and target.shape != PLACEHOLDER:
            state.findings.reads.append(target.shape.replace(PLACEHOLDER, "*"))
    if normalize(target.shape).startswith(NETWORK):
        record_path_host(state.findings, normalize(target.shape))
        state.findings.add_risk("high", "connects over the network", *state.locate(target))
    if target.computed:
        state.findings.mark_unclear("reads a file that is only known when it runs", *state.locate(target))
    is_file = target.value is not None and not target.is_process
    return with_stdin(context, StandardInput(None, ("cat",) if is_file else (None,), (target.start, target.end)))


def read_heredoc(state: WalkState, node: "Node", body: "Node | None", context: CommandContext) -> CommandContext:
    """Read a here-document, and the rest of its line."""
    document = parse_heredoc(node, state.script)
    if not document.understood:
        state.mark_unclear("a here-document is not understood", node)
    for code in document.backquoted:
        state.reader.read_code(state.script, code, document.byte_range, context.nested())
    stdin = StandardInput(document.text, (None,), document.byte_range)
    copies = body is not None and body.type == "command" and body.text == b"cat"
    passed = with_stdin(context, stdin if copies else StandardInput(None, (None,), document.byte_range))
    for child in node.children:
        if child.type == "pipeline":
            state.push(child.named_children, child, passed)
        elif child.type in ("file_redirect", "herestring_redirect"):
            _, trailing = read_redirect(state, child, context)
            if trailing:
                state.mark_unclear("words follow a redirection", child)
        elif child.type in WORD_NODES:
            state.mark_unclear("words follow a redirection", node)
        elif child.is_named and child.type not in LEAF_NODES:
            state.stack.append((child, context))
    return with_stdin(context, stdin)


_MAX_NODES = 400
_WRAPPERS = frozenset({"command", "builtin", "time", "env", "nohup", "exec"})


def find_pipe_input(script: Script, stages: "list[Node]", bindings: Bindings) -> StandardInput:
    """Return the input of the next pipeline stage: its programs, and the text if it is a single `echo`."""
    # Nested commands are assessed where they stand.
    evaluator = Evaluator(script, bindings, Findings(), lambda _: None)
    programs: list[str | None] = []
    byte_range = (stages[0].start_byte, stages[-1].end_byte)
    stack, visited = list(stages), 0
    while stack:
        node = stack.pop()
        visited += 1
        if visited > _MAX_NODES:
            return StandardInput(None, (None,), byte_range)
        if node.type == "command" and (name := node.child_by_field_name("name")):
            words = evaluator.evaluate_words(name)
            program = words[0].value if words else None
            programs.append(None if program is None or program in _WRAPPERS else program_name(program))
        stack.extend(node.named_children)
    only = stages[0] if len(stages) == 1 and stages[0].type == "command" else None
    return StandardInput(
        _find_echo_text(only, evaluator) if only and programs[:1] in (["echo"], ["printf"]) else None,
        tuple(programs),
        byte_range,
    )


def _find_echo_text(node: "Node", evaluator: Evaluator) -> str | None:
    words: list[Word] = []
    for argument in node.children_by_field_name("argument"):
        words.extend(evaluator.evaluate_words(argument))
    name = node.child_by_field_name("name")
    printing = name is not None and name.text is not None and name.text.endswith(b"printf")
    texts = [word.value for word in words]
    if not printing and texts[:1] == ["-n"]:
        texts = texts[1:]
    if any(text is None or "\\" in text.removesuffix("\\n") for text in texts) or (
        texts and (texts[0] or "").startswith("-")
    ):
        return None
    if not printing:
        return " ".join(text or "" for text in texts)
    if len(texts) == 1 and "%" not in (texts[0] or ""):
        return (texts[0] or "").removesuffix("\\n")
    return texts[1] if len(texts) == 2 and texts[0] in ("%s", "%s\\n") else None


_MISSED = re.compile(r"(?<!\\)(?:\\\\)*(?:`|\$[\w({\[@*#?$!-])")
_BACKQUOTED = re.compile(r"(?<!\\)`((?:[^`\\]|\\.)*)`", re.DOTALL)
_DOLLARED = re.compile(r"\$\(([^()]*)\)")
_MAX_CODES = 64


class Heredoc(msgspec.Struct, frozen=True):
    """The text of a here-document, as far as it is known."""

    text: str | None
    byte_range: tuple[int, int]
    understood: bool = True
    backquoted: tuple[str, ...] = ()
    """Backquoted commands, which the grammar does not see here."""


def parse_heredoc(node: "Node", script: Script) -> Heredoc:
    """Parse a here-document; check that parser and shell agree on its end."""
    children = {child.type: child for child in node.children}
    start, body, end = children.get("heredoc_start"), children.get("heredoc_body"), children.get("heredoc_end")
    if start is None or end is None:
        return _unterminated_heredoc(script, node.start_byte)
    delimiter_text = script.text_at(start.start_byte, start.end_byte)
    delimiter = re.sub(r"\\(.)|['\"]", lambda match: match[1] or "", delimiter_text)
    first = script.source.find(b"\n", start.end_byte) + 1
    raw = script.text_at(first, end.start_byte)
    lines = raw.split("\n")
    if "<<-" in children:
        lines = [line.lstrip("\t") for line in lines]
    # Only tabs may precede the delimiter on its line, and no earlier line may equal the delimiter.
    fits = lines[-1] == "" and delimiter not in lines[:-1] and first > 0 and (body is None or body.start_byte >= first)
    last = script.source.find(b"\n", end.start_byte)
    last_line = script.source[end.start_byte : last if last >= 0 else None].decode(errors="replace")
    byte_range = (first, end.start_byte)
    if not fits or last_line != delimiter:
        return _unterminated_heredoc(script, first)
    if delimiter_text != delimiter:
        return Heredoc("\n".join(lines), byte_range)
    return _parse_expanded_heredoc(body, script, "\n".join(lines), byte_range)


def _unterminated_heredoc(script: Script, start: int) -> Heredoc:
    """Treat everything after an uncertain end as code: the shell may run it as a substitution."""
    end = len(script.source)
    text = script.text_at(start, end)
    codes = (*_BACKQUOTED.findall(text), *_DOLLARED.findall(text))
    return Heredoc(None, (start, end), understood=False, backquoted=codes[:_MAX_CODES])


def _parse_expanded_heredoc(body: "Node | None", script: Script, text: str, byte_range: tuple[int, int]) -> Heredoc:
    """Parse a here-document whose substitutions the shell runs."""
    expansions = [child for child in body.named_children if child.type in EXPANSIONS] if body else []
    literal, at = "", byte_range[0]
    for child in expansions:
        literal += script.text_at(at, child.start_byte) + " "
        at = child.end_byte
    literal += script.text_at(at, byte_range[1])
    backquoted = tuple(re.sub(r"\\([`\\$])", r"\1", code) for code in _BACKQUOTED.findall(literal))
    understood = not _MISSED.search(literal)
    value = None if expansions or not understood else re.sub(r"\\([$`\\\n])", r"\1", text)
    return Heredoc(value, byte_range, understood, backquoted)
